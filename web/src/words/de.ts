/** German. The build puts the translations of `web/words/de.json` into it. */

import { languageOf } from "./language.ts";

/** With a digit before it a noun is changed in the dative of the plural alone: of `12 Köpfe`, `12 Köpfen`. */
function dative(word: string): string {
  return /^1 |[ns\d]$/.test(word) ? word : `${word}n`;
}

export const language = languageOf({
  direction: "ltr",
  // A comma would be read as a decimal point. Numbers keep their point, as PyTorch and a copied number have it.
  thousands: "\u202f",
  sentences: {},
  patterns: [],
  forms: { n: dative },
});
