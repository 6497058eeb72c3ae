/** Works out the formula table: one number with the numbers it came from. */

import { at } from "../numbers/safetensors.ts";
import type { Cell } from "../record/axes.ts";
import type { Formula, RunRecord } from "../record/record.ts";
import {
  type Compute,
  Evaluator,
  type Factor,
  type Fetch,
  Fields,
  inOrder,
  MissingTensor,
  operandsOf,
  type Term,
  type Terms,
  type Working,
} from "./evaluator.ts";
import { ACROSS } from "./rules/across.ts";
import { OF_ONE } from "./rules/activations.ts";
import { MASKS } from "./rules/masks.ts";
import { POSITIONS } from "./rules/positions.ts";
import { SUMS } from "./rules/sums.ts";

/** Those of most runs; `rules_for.ts` adds the others. */
export const RULES: Record<string, Compute> = {
  ...SUMS,
  ...OF_ONE,
  ...ACROSS,
  ...MASKS,
  ...POSITIONS,
};

/** One number of a run, worked out again from its operands; `error` as `glassformer verify` measures it. */
export interface Explanation {
  readonly name: string;
  readonly cell: Cell;
  readonly value: number;
  readonly formula: Formula;
  readonly terms: readonly Term[];
  /** The same, where thousands need not be made to look at few. */
  readonly sum: Terms;
  readonly quantities: Readonly<Record<string, number>>;
  readonly recomputed: number;
  readonly difference: number;
  readonly error: number;
}

/** Explain one cell; throws MissingTensor where the page does not carry what the formula reads. */
export function explainCell(formula: Formula, cell: Cell, fetch: Fetch, run: Numbers): Explanation {
  const evaluator = new Evaluator(formula, fetch, run);
  const value = at(
    evaluator.tensor(formula.name),
    evaluator.axes.map((axis) => cell[axis] ?? 0),
  );
  const working = compute(evaluator, cell);
  const { result, quantities } = working;
  if (Number.isNaN(result) && !Number.isNaN(value)) {
    const [, partial] = operandsOf(formula.rule).find(([, { name }]) => fetch(name)?.partial) ?? [];
    if (partial !== undefined) throw new MissingTensor(partial.name);
  }
  const sum = working.long ?? inOrder(working.terms);
  const difference = Object.is(value, result) || value === result ? 0 : Math.abs(value - result);
  let size = 0;
  for (let place = 0; place < sum.length; place++) size += Math.abs(sum.values[place] ?? NaN);
  const error = difference === 0 ? 0 : difference / (1 + size);
  return {
    ...{ name: formula.name, cell, value, formula, sum, quantities, recomputed: result, difference, error },
    get terms() {
      return working.terms;
    },
  };
}

type Numbers = Pick<RunRecord, "scored_at" | "precision">;

/** What the formula of an evaluator makes of one cell. */
export function compute(evaluator: Evaluator, cell: Cell): Working {
  const rule = RULES[evaluator.formula.rule.rule];
  if (rule === undefined) throw new Error(`this page knows no rule ${evaluator.formula.rule.rule}`);
  return rule(new Fields(evaluator.formula.rule), evaluator, cell);
}

/** The cell at a flat place of a tensor. */
export function cellAt(axes: readonly string[], shape: readonly number[], flat: number): Record<string, number> {
  const cell: Record<string, number> = {};
  let rest = flat;
  for (let axis = axes.length - 1; axis >= 0; axis--) {
    const size = shape[axis] ?? 1;
    cell[axes[axis] ?? ""] = rest % size;
    rest = Math.floor(rest / size);
  }
  return cell;
}

/** The cells that an explanation was made from, each once. */
export function operandsIn(terms: readonly Term[]): Factor[] {
  const found = new Map<string, Factor>();
  for (const term of terms) {
    for (const factor of term.factors) {
      if (factor.name !== null) found.set(`${factor.name} ${factor.index.join(" ")}`, factor);
    }
  }
  return [...found.values()];
}
