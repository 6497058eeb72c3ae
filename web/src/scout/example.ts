/** One pair of words that the tour follows through a run. */

import { at, type Tensor } from "../numbers/safetensors.ts";

/** A word that looks, one that it looks at, and the head in which it does. */
export interface Example {
  readonly query: number;
  readonly key: number;
  readonly head: number;
}

/** A weight above this leaves nothing to share out. */
const SHARED = 0.95;

/** A weight below this is no example of looking at a word. */
const LEAST = 0.05;

/** What an example is chosen from: a sentence, its words that are hidden, those that have letters, all, and its tensors. */
export interface Sentence {
  readonly sentence: number;
  readonly hidden: readonly number[];
  readonly seen: readonly number[];
  readonly all: readonly number[];
  fetch(name: string): Tensor | undefined;
  /** The name of a tensor of the attention that is followed. */
  of(last: string): string;
}

/** A hidden word, or else any, with the word that it looks at most. */
export function exampleOf(s: Sentence): Example {
  const { hidden, seen } = s;
  // Of a long text the last words: what is found there serves as well.
  const queries = hidden.length > 0 ? hidden.slice(0, 1) : seen.slice(-64);
  const tensor = s.fetch(s.of("weights"));
  let best = { query: queries.at(-1) ?? 0, key: seen[0] ?? 0, head: 0 };
  if (tensor === undefined) return best;
  let most = -1;
  const [, heads = 1] = tensor.shape;
  // Where all of the attention goes to marks or to one word, the largest weight has to do.
  for (const [keys, limit] of [
    [seen, SHARED],
    [s.all, 2],
  ] as const) {
    for (let head = 0; head < heads; head++) {
      for (const query of queries) {
        for (const key of keys) {
          const value = at(tensor, [Math.min(s.sentence, (tensor.shape[0] ?? 1) - 1), head, query, key]);
          if (key === query || value <= most || value >= limit) continue;
          [most, best] = [value, { query, key, head }];
        }
      }
    }
    if (most >= LEAST) break;
  }
  return best;
}
