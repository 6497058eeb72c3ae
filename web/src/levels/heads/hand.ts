/** A head that is taken in hand: apart from what is said of all heads, for the first screen needs it. */

import type { State } from "../../address/state.ts";
import type { Source } from "../../sources/source.ts";

/** The head of an id as the cell in hand: the pair of tokens stays where the new weights have it too. */
export function headInHand(source: Source, id: string, now: State): { tensor: string; cell: number[] } {
  const [attention = "", index = "0"] = id.split(" ");
  const tensor = `${attention}.weights`;
  const [sentences = 1, , queries = 1, keys = 1] = source.shape(tensor) ?? [];
  const [query = 0, key = 0] = now.tensor.endsWith("_attention.weights") ? now.cell.slice(2) : [];
  const cell = [
    Math.min(now.sentence, sentences - 1),
    Number(index),
    Math.min(query, queries - 1),
    Math.min(key, keys - 1),
  ];
  return { tensor, cell };
}
