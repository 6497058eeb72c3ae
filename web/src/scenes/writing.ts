/** The pictures of a stack that writes. */

export { drawEarlier } from "./attention/earlier_keys.ts";
export { drawWriting } from "./attention/writing.ts";
