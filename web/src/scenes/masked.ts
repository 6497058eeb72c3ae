/** The pictures of hidden words, which a stack that writes does not have. */

export { drawTwins } from "./attention/twins.ts";
export { twinsOf } from "./recomputed/zeroed.ts";
