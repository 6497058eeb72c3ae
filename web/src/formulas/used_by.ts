/** Upward: which numbers were made from this one. */

import { range } from "../numbers/arithmetic.ts";
import { axisNames, readAxes } from "../record/axes.ts";
import type { Formula, Operand, RunRecord } from "../record/record.ts";
import { cellAt } from "./interpreter.ts";
import type { Names } from "./names.ts";

export interface Use {
  readonly formula: Formula;
  /** Some of the cells that read the number, the first ones in order. */
  readonly cells: readonly number[][];
  readonly count: number;
}

/** The formulas that read a cell, with at most `most` of the cells that do. */
export function usedBy(
  name: string,
  cell: readonly number[],
  names: Names,
  shapeOf: (name: string) => readonly number[] | undefined,
  most: number,
): Use[] {
  const found: Use[] = [];
  for (const [formula, operand] of names.readers(name)) {
    const [result, shape] = [shapeOf(formula.name), shapeOf(name)];
    if (result === undefined || shape === undefined) continue;
    const use = readersOf(formula, operand, cell, shape, result, names.run, most);
    if (use.count > 0) found.push(use);
  }
  return found;
}

function readersOf(
  formula: Formula,
  operand: Operand,
  cell: readonly number[],
  shape: readonly number[],
  result: readonly number[],
  run: RunRecord,
  most: number,
): Use {
  const fixed = fixedBy(operand, cell, shape, run.scored_at);
  const axes = axisNames(formula.axes);
  const over = formula.rule["over"];
  // Along an axis that the rule goes over, each number of it reads all: any step along it is a reader.
  const spread = axes.map((axis) => axis === over || (formula.rule.rule.startsWith("rotate") && axis === "channel"));
  const merged = formula.rule.rule === "concatenate" ? mergedChannel(operand, cell, shape, axes.at(-1) ?? "") : null;
  const choices = axes.map((axis, dimension) => {
    const size = result[dimension] ?? 1;
    if (merged !== null && dimension === axes.length - 1) return [merged];
    const steps = size === 1 || spread[dimension] === true ? undefined : fixed.get(axis);
    return steps?.filter((step) => step < size) ?? range(size);
  });
  if (fixed.get("") !== undefined) return { formula, cells: [], count: 0 };
  const sizes = choices.map((steps) => steps.length);
  const count = sizes.reduce((product, size) => product * size, 1);
  const cells = range(Math.min(count, most), (flat) => {
    const at = cellAt(axes, sizes, flat);
    return axes.map((axis, dimension) => choices[dimension]?.[at[axis] ?? 0] ?? 0);
  });
  return { formula, cells, count };
}

/** The steps of each named axis at which the formula reads this element; "" = at none. */
function fixedBy(
  operand: Operand,
  cell: readonly number[],
  shape: readonly number[],
  scoredAt: readonly number[] | null,
): Map<string, number[]> {
  const fixed = new Map<string, number[]>();
  let axis = 0;
  for (const step of readAxes(operand.axes)) {
    const [size, index] = [shape[axis] ?? 1, cell[axis] ?? 0];
    if (step.kind === "group") {
      const inner = size / step.count;
      fixed.set(step.outer, [Math.floor(index / inner)]).set(step.inner, [index % inner]);
      axis += 1;
    } else if (step.kind === "place") {
      const flat = index * (shape[axis + 1] ?? 1) + (cell[axis + 1] ?? 0);
      const places = (scoredAt ?? []).flatMap((place, at) => (place === flat ? [at] : []));
      fixed.set(step.name, places);
      if (places.length === 0) fixed.set("", []);
      axis += 2;
    } else {
      if (size > 1) {
        const served = range(step.serves, (each) => index * step.serves + each);
        fixed.set(step.name, served);
      }
      axis += 1;
    }
  }
  return fixed;
}

/** In the heads laid side by side: channel = head · size + channel within the head. */
function mergedChannel(operand: Operand, cell: readonly number[], shape: readonly number[], last: string): number {
  const names = axisNames(operand.axes);
  const [head, channel] = [names.indexOf("head"), names.indexOf(last)];
  return (cell[head] ?? 0) * (shape[channel] ?? 1) + (cell[channel] ?? 0);
}
