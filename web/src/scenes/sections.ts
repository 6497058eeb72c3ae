/** The pictures of what a page carries only when it is asked for: sections of `page/sections/related.py`, gradients. */

export { Flow } from "./gradients_flow.tsx";
export { ShuffledView } from "./shuffled_view.tsx";
export { drawNeighbours, NEAR_ASKED, neighboursTable } from "./vectors/neighbours.ts";
export { drawRegression, LABEL_ASKED, regressionTable } from "./vectors/regression.ts";
export { drawTransfer, largestRead, transferTable } from "./vectors/transfer.ts";
