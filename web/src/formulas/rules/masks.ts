/** Rules of the mask: see `look/formulas/rules/masks.py`. */

import type { Cell } from "../../record/axes.ts";
import { type Compute, type Evaluator, type Fields, plain, step, type Term, type Working } from "../evaluator.ts";

type Reasons = [string, boolean][];

/** Each reason why a key can be out of a query's reach; true = it is not. */
function withinReach(rule: Fields, tensors: Evaluator, cell: Cell): Reasons {
  const reasons: Reasons = [];
  const ahead = () => step(cell, "key") - step(cell, "query");
  if (rule.flag("causal")) reasons.push(["not ahead", ahead() <= 0]);
  if (rule.has("window")) {
    const window = rule.number("window");
    reasons.push([`within ${window}`, Math.abs(ahead()) <= window]);
  }
  const [real, own, other] = [rule.maybe("real"), rule.maybe("query_documents"), rule.maybe("key_documents")];
  if (real !== null) reasons.push(["not padding", tensors.value(real, cell) !== 0]);
  if (own !== null && other !== null) {
    reasons.push(["same document", tensors.value(own, cell) === tensors.value(other, cell)]);
  }
  return reasons;
}

const mayLook: Compute = (rule, tensors, cell) => {
  const reasons = withinReach(rule, tensors, cell);
  const [masked, custom] = [rule.maybe("masked_words"), rule.maybe("custom")];
  if (masked !== null) reasons.push(["not masked", tensors.value(masked, cell) === 0]);
  if (custom !== null) reasons.push(["custom mask", tensors.value(custom, cell) !== 0]);
  const terms = reasons.map(([what, allows]) => ({ what, factors: [], value: Number(allows) }));
  return { terms, result: Number(reasons.every(([, allows]) => allows)), quantities: {} };
};

const LOWEST = { float32: -(2 - 2 ** -23) * 2 ** 127, float64: -Number.MAX_VALUE };

/** A fill as a number; `lowest` is the most negative number of the type the run was computed in. */
export function fillOf(rule: Fields, field: string, run: Pick<Evaluator, "precision">): number {
  return rule.text(field) === "lowest" ? LOWEST[run.precision] : rule.number(field);
}

function fill(rule: Fields, tensors: Evaluator, cell: Cell, added: boolean): Working {
  const [score, looks] = [tensors.factor(rule.operand("x"), cell), tensors.factor(rule.operand("may_look"), cell)];
  const kept: Term = { what: "score", factors: [score], value: score.value };
  if (looks.value !== 0) return { terms: [kept], result: score.value, quantities: {} };
  if (rule.has("out_of_reach") && !withinReach(rule, tensors, cell).every(([, allows]) => allows)) {
    const far = fillOf(rule, "out_of_reach", tensors);
    return filled(kept, { what: "forbidden: out of reach", factors: [looks, plain(far)], value: far }, false);
  }
  const value = fillOf(rule, "fill", tensors);
  return filled(kept, { what: "forbidden: fill", factors: [looks, plain(value)], value }, added);
}

/** The fill added to the score, or in its place. Whether −∞ is added or set, is the same: it is written as a sum. */
function filled(kept: Term, fill: Term, added: boolean): Working {
  if (added) return { terms: [kept, fill], result: kept.value + fill.value, quantities: {} };
  return { terms: fill.value === -Infinity ? [kept, fill] : [fill], result: fill.value, quantities: {} };
}

export const MASKS: Readonly<Record<string, Compute>> = {
  may_look: mayLook,
  fill_set: (rule, tensors, cell) => fill(rule, tensors, cell, false),
  fill_add: (rule, tensors, cell) => fill(rule, tensors, cell, true),
};
