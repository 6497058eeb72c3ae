/** The rules of a run that few runs have: a page begins without them. */

import type { Formula } from "../record/record.ts";
import { RULES } from "./interpreter.ts";

/** Has the rules of these formulas. An exported page without such a formula does not carry them. */
export async function rulesFor(formulas: readonly Formula[]): Promise<void> {
  if (formulas.every(({ rule }) => rule.rule in RULES)) return;
  const { CHAINS } = await import("./rules/chains.ts");
  Object.assign(RULES, CHAINS);
}
