/** The pictures of what a page carries only when it is asked for: sections of `page/sections/beside.py`, gradients. */

export { Flow } from "../scenes/gradients_flow.tsx";
export { ShuffledView } from "../scenes/shuffled_view.tsx";
export { drawNeighbours, NEAR_ASKED, neighboursTable } from "../scenes/vectors/neighbours.ts";
export { drawRegression, LABEL_ASKED, regressionTable } from "../scenes/vectors/regression.ts";
export { drawTransfer, largestRead, transferTable } from "../scenes/vectors/transfer.ts";
