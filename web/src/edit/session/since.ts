/** What a change has changed: the numbers of two runs compared, one by one. */

import type { Fetch } from "../../formulas/evaluator.ts";
import { cellAt } from "../../formulas/interpreter.ts";
import type { Names } from "../../formulas/names.ts";
import type { Store } from "../../run/store.ts";

/** Differences below this share of 1 + the size of a number are rounding. */
const ROUNDING = 1e-6;

export interface Since {
  /** How many numbers are others, of how many. */
  readonly changed: number;
  readonly of: number;
  /** Tensors that have another size now, so that their numbers cannot be compared one by one. */
  readonly resized: number;
  /** The largest difference among the probabilities, where one of them changed, else among all numbers. */
  readonly largest: { readonly name: string; readonly cell: readonly number[]; readonly by: number } | null;
}

/** How many of two tensors' numbers are others, and the largest finite difference: of a large run, a million of them. */
function apart(was: ArrayLike<number>, now: ArrayLike<number>): { changed: number; flat: number; by: number } {
  let changed = 0;
  let flat = 0;
  let largest = 0;
  for (let place = 0; place < now.length; place++) {
    const old = was[place] ?? 0;
    const value = now[place] ?? 0;
    const by = Math.abs(value - old);
    if (old === value || by <= ROUNDING * (1 + Math.min(Math.abs(old), Math.abs(value)))) continue;
    changed += 1;
    if (by > largest && by < Infinity) {
      largest = by;
      flat = place;
    }
  }
  return { changed, flat, by: largest === 0 ? 0 : (now[flat] ?? 0) - (was[flat] ?? 0) };
}

/** Compares all tensors that both runs have at hand. */
export function since(before: Fetch, after: Fetch, names: Names): Since {
  let [changed, of, resized] = [0, 0, 0];
  const most: Record<"answers" | "others", { name: string; flat: number; by: number }> = {
    answers: { name: "", flat: 0, by: 0 },
    others: { name: "", flat: 0, by: 0 },
  };
  for (const { name } of names.run.formulas) {
    const [one, two] = [before(name), after(name)];
    if (one === undefined || two === undefined) continue;
    if (one.shape.join() !== two.shape.join()) {
      resized += 1;
      continue;
    }
    const [was, now] = [one.data, two.data];
    of += now.length;
    if (one === two) continue;
    const kind = name.endsWith(".probabilities") ? "answers" : "others";
    // A fill of −1000 that comes or goes, and the logarithm of almost nothing, say little of how far a run moved.
    const telling = !/\.(masked|log_probabilities)$/.test(name);
    const { flat, by, ...moved } = apart(was, now);
    changed += moved.changed;
    if (telling && Math.abs(by) > Math.abs(most[kind].by)) most[kind] = { name, flat, by };
  }
  const found = most.answers.by === 0 ? most.others : most.answers;
  if (found.by === 0) return { changed, of, resized, largest: null };
  const axes = names.axes(found.name);
  const at = cellAt(axes, after(found.name)?.shape ?? [], found.flat);
  const cell = axes.map((axis) => at[axis] ?? 0);
  return { changed, of, resized, largest: { name: found.name, cell, by: found.by } };
}

/** All numbers of a run, opened. */
export async function numbersOf(store: Store): Promise<Fetch> {
  await store.open(store.names.run.formulas.map(({ name }) => name));
  return store.fetch;
}
