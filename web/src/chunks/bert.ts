/** The steps of a tour that few runs have. */

export { BERT } from "../tour/steps/bert.ts";
