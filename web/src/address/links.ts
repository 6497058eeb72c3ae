/** Small things that several views say in the same way. */

import { cellNear, readersOfEach, weightsNear } from "../formulas/attention.ts";
import type { Factor } from "../formulas/evaluator.ts";
import type { Names } from "../formulas/names.ts";
import { say } from "../words/say.ts";
import { link } from "./state.ts";

/** The address of one number. */
export function toNumber(name: string, cell: readonly number[], names: Names): string {
  return link({ level: "number", tensor: name, cell, layout: [], ...sentenceOf(name, cell, names) });
}

export function toTensor(name: string, cell: readonly number[], names: Names): string {
  return link({ level: "tensor", tensor: name, cell, layout: [], ...sentenceOf(name, cell, names) });
}

/** The address of the head that a number is part of; null where it is part of none. */
export function toHead(name: string, cell: readonly number[], names: Names): string | null {
  const weights = weightsNear(name, names);
  if (weights === null) return null;
  const at = cellNear(name, cell, names);
  return link({ level: "head", tensor: weights, cell: at, layout: [], sentence: at[0] ?? 0 });
}

/** What that head is called: of several that read a shared key or value, the first. */
export function headWords(name: string, cell: readonly number[], names: Names): string {
  const readers = readersOfEach(name, names);
  if (readers < 2) return ofHeads(name, names) ? say`its head` : say`its heads`;
  return say`head ${cellNear(name, cell, names)[1]}, the first of the ${readers} that read it`;
}

/** Whether a tensor has a part for each head; what joins them belongs to none. */
export function ofHeads(name: string, names: Names): boolean {
  return names.axes(name).some((axis) => axis.endsWith("head") && !(axis in (names.run.shared[name] ?? {})));
}

/** The sentence in front is that of the cell in hand. */
export function sentenceOf(name: string, cell: readonly number[], names: Names): { sentence?: number } {
  const axes = names.axes(name);
  const place = axes.indexOf("place");
  if (place >= 0) return { sentence: names.run.places[cell[place] ?? 0]?.[0] ?? 0 };
  const at = axes.indexOf("sentence");
  return at < 0 || "sentence" in (names.run.shared[name] ?? {}) ? {} : { sentence: cell[at] ?? 0 };
}

export function factorLink(factor: Factor, names: Names): string {
  return factor.name === null ? "" : toNumber(factor.name, factor.index, names);
}
