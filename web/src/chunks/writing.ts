/** The pictures of a stack that writes. */

export { drawEarlier } from "../scenes/attention/earlier_keys.ts";
export { drawWriting } from "../scenes/attention/writing.ts";
