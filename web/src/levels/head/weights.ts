/** The weights of one head for rows of words: the sum over the tokens looked at, the mean over those that look. */

import type { Picture } from "../../numbers/dots.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Unit } from "./units.ts";

/** The rows of a head's weights as they are stored; null while a row is not at hand. */
export interface TokenRows {
  readonly queries: number;
  readonly keys: number;
  /** A picture in place of the rows, of which few are at hand. */
  readonly picture?: Picture;
  row(query: number): { readonly data: ArrayLike<number>; readonly from: number } | null;
}

/** A head of a tensor that is here whole. */
export function rowsOf(tensor: Tensor, sentence: number, head: number): TokenRows {
  const [, heads = 1, queries = 1, keys = 1] = tensor.shape;
  const { data } = tensor;
  const start = (sentence * heads + head) * queries * keys;
  return { queries, keys, row: (query) => ({ data, from: start + query * keys }) };
}

export class Weights {
  readonly queries: readonly Unit[];
  readonly keys: readonly Unit[];
  readonly tokens: TokenRows;
  readonly #rows = new Map<number, Float64Array>();

  constructor(tokens: TokenRows, queries: readonly Unit[], keys: readonly Unit[]) {
    this.tokens = tokens;
    this.queries = queries;
    this.keys = keys;
  }

  /** How much a row's unit looks at each unit; null while that is not at hand. */
  row(query: number): Float64Array | null {
    const known = this.#rows.get(query);
    if (known !== undefined) return known;
    const looking = this.queries[query]?.tokens ?? [];
    const found = new Float64Array(this.keys.length);
    for (const token of looking) {
      const row = this.tokens.row(token);
      if (row === null) return null;
      const { data, from } = row;
      this.keys.forEach((unit, place) => {
        let sum = 0;
        for (const key of unit.tokens) sum += data[from + key] ?? 0;
        found[place] = (found[place] ?? 0) + sum / looking.length;
      });
    }
    this.#rows.set(query, found);
    return found;
  }

  /** The token of a unit that a token looks at most. */
  strongestIn(query: number, unit: Unit): number {
    const row = this.tokens.row(query);
    let best = unit.tokens[0] ?? 0;
    if (row === null) return best;
    for (const key of unit.tokens) {
      if ((row.data[row.from + key] ?? 0) > (row.data[row.from + best] ?? 0)) best = key;
    }
    return best;
  }
}

/** What is drawn of a word's lines: the strongest until they hold this share of what is shown, and at most so many. */
export const [SHARE, MOST] = [0.7, 24];

/** The columns of a row whose lines are drawn, strongest first. */
export function strongest(row: ArrayLike<number>, share = SHARE, most = MOST): number[] {
  let sum = 0;
  const order: number[] = [];
  for (let place = 0; place < row.length; place++) {
    const weight = row[place] ?? 0;
    if (weight <= 0) continue;
    sum += weight;
    order.push(place);
  }
  order.sort((one, two) => (row[two] ?? 0) - (row[one] ?? 0));
  let held = 0;
  let count = 0;
  while (count < order.length && count < most && held < sum * share) held += row[order[count++] ?? 0] ?? 0;
  return order.slice(0, count);
}
