/** The steps of a tour that few runs have. */

export { TRANSLATION } from "../tour/steps/translation.ts";
