/** The tensor and the cell of the address, as far as a run has them. */

import { firstLevel, largestWeight } from "../../address/first.ts";
import { go, type State, state } from "../../address/state.ts";
import type { Store } from "../../run/store.ts";

/** What is in hand, as far as it is there in this run. */
export function inHandOf(next: Store): Partial<State> {
  const { tensor, cell } = state.value;
  const shape = next.names.knows(tensor) ? next.shape(tensor) : undefined;
  if (tensor === "" || shape?.length !== cell.length) return largestWeight(next);
  if (cell.every((index, axis) => index < (shape[axis] ?? 0))) return {};
  return { cell: cell.map((index, axis) => Math.min(index, (shape[axis] ?? 1) - 1)) };
}

/** A cell that its tensor does not have, as an address may name one, becomes the nearest that it has. */
export function keepWithin({ names, source }: Store, { level, tensor, cell, unit, sentence }: State): void {
  const { formulas } = names.run;
  const own = names.formulas.get(tensor)?.unit ?? names.readers(tensor)[0]?.[0].unit;
  if (level === "block" && firstLevel(formulas) === "model" && unit !== "" && own !== unit) {
    // The number next to a part of the model is one of its own.
    const within = formulas.filter((formula) => formula.unit === unit);
    const name = (within.find((formula) => formula.name.endsWith(".weights")) ?? within.at(-1))?.name ?? "";
    const sizes = name === "" ? undefined : source.shape(name);
    const axes = names.axes(name);
    if (sizes !== undefined) {
      const first = sizes.map((size, axis) => (axes[axis] === "sentence" ? Math.min(sentence, size - 1) : 0));
      go({ tensor: name, cell: first }, true);
      return;
    }
  }
  const sizes = names.knows(tensor) ? source.shape(tensor) : undefined;
  const inside = sizes?.map((size, axis) => Math.min(cell[axis] ?? 0, size - 1));
  if (inside !== undefined && inside.join() !== cell.join()) go({ cell: inside }, true);
}
