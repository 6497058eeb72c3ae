/**
 * What would be if masked words were zeroed after their position was added (docs/measured/imprecise.md, C-2): the changes that do
 * it, for a link of the tour. Neighbours that are masked are then the same vector, and nothing can tell them apart.
 */

import type { Names } from "../../formulas/names.ts";
import { type Change, formatChanges } from "./changes.ts";

/** The changes as the address holds them; empty for a model that zeroes no word, or a text without masked words. */
export function zeroedAfterPosition(names: Names): string {
  const zeroes = names.run.formulas.some(({ rule }) => rule.rule === "look_up" && rule["masked_words"] !== undefined);
  if (!zeroes || !names.knows("encoder.embed.sum")) return "";
  const steps = names.run.words.answers.map(([sentence, token]): Change => {
    return { kind: "replace", where: "encoder.embed.sum", by: 0, cell: [sentence, token] };
  });
  return formatChanges(steps);
}
