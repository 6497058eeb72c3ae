/** What a change has changed: the numbers of two runs compared, one by one. */

import type { Fetch } from "../run/evaluator.ts";
import { cellAt } from "../run/interpreter.ts";
import type { Names } from "../run/names.ts";

/** Differences below this share of 1 + the size of a number are rounding. */
const ROUNDING = 1e-6;

export interface Since {
  /** How many numbers are others, of how many. */
  readonly changed: number;
  readonly of: number;
  /** Tensors that have another size now, so that their numbers cannot be compared one by one. */
  readonly resized: number;
  readonly largest: { readonly name: string; readonly cell: readonly number[]; readonly by: number } | null;
}

/** Compares all tensors that both runs have at hand. */
export function since(before: Fetch, after: Fetch, names: Names): Since {
  let [changed, of, resized] = [0, 0, 0];
  let largest: { name: string; flat: number; by: number } | null = null;
  for (const { name } of names.run.formulas) {
    const [one, two] = [before(name), after(name)];
    if (one === undefined || two === undefined || one === two) {
      of += two?.data.length ?? 0;
      continue;
    }
    if (one.shape.join() !== two.shape.join()) {
      resized += 1;
      continue;
    }
    const [was, now] = [one.data, two.data];
    of += now.length;
    for (let flat = 0; flat < now.length; flat++) {
      const [old, value] = [was[flat] ?? 0, now[flat] ?? 0];
      if (old === value || Math.abs(value - old) <= ROUNDING * (1 + Math.abs(old))) continue;
      changed += 1;
      // A fill of −1000 that comes or goes says nothing of how far the numbers moved.
      const by = name.endsWith(".masked") ? 0 : value - old;
      if (Number.isFinite(by) && by !== 0 && (largest === null || Math.abs(by) > Math.abs(largest.by)))
        largest = { name, flat, by };
    }
  }
  if (largest === null) return { changed, of, resized, largest };
  const axes = names.axes(largest.name);
  const at = cellAt(axes, after(largest.name)?.shape ?? [], largest.flat);
  const cell = axes.map((axis) => at[axis] ?? 0);
  return { changed, of, resized, largest: { name: largest.name, cell, by: largest.by } };
}
