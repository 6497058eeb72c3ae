/** One pair of words that the tour follows through a run. */

import { at } from "../numbers/safetensors.ts";
import type { Scout } from "./scout.ts";

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

/** A hidden word, or else any, with the word that it looks at most. */
export function exampleOf(s: Scout): Example {
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
