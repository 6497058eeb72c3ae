/** The steps of a tour that few runs have. */

export { DECODER } from "../tour/steps/decoder.ts";
