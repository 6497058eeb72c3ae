/** An explanation as a server sends it. */

import { inOrder, type Term } from "../formulas/evaluator.ts";
import type { Explanation } from "../formulas/interpreter.ts";
import type { Cell } from "../record/axes.ts";
import type { Formula } from "../record/record.ts";

/** The largest terms of a sum that is too long to be sent, and what the others add up to. */
export interface Shortened extends Explanation {
  readonly left: { readonly count: number; readonly sum: number };
}

/** Numbers that JSON lacks are words. */
export interface Told {
  readonly value: Written;
  readonly terms: readonly ToldTerm[];
  readonly quantities: Readonly<Record<string, Written>>;
  readonly recomputed: Written;
  readonly difference: Written;
  readonly error: Written;
  readonly left: { readonly count: number; readonly sum: Written };
}

export type Written = number | "Infinity" | "-Infinity" | "NaN";

interface ToldTerm {
  readonly what: string;
  readonly factors: readonly (readonly [name: string | null, index: readonly number[], value: Written])[];
  readonly value: Written;
  readonly added: boolean;
}

function termOf(told: ToldTerm): Term {
  const factors = told.factors.map(([name, index, value]) => ({ name, index, value: Number(value) }));
  const term = { what: told.what, factors, value: Number(told.value) };
  return told.added ? { ...term, added: true } : term;
}

export function explanationOf(told: Told, formula: Formula, cell: Cell): Shortened {
  const terms = told.terms.map(termOf);
  return {
    name: formula.name,
    cell,
    formula,
    value: Number(told.value),
    terms,
    sum: inOrder(terms),
    quantities: Object.fromEntries(Object.entries(told.quantities).map(([name, value]) => [name, Number(value)])),
    recomputed: Number(told.recomputed),
    difference: Number(told.difference),
    error: Number(told.error),
    left: { count: told.left.count, sum: Number(told.left.sum) },
  };
}
