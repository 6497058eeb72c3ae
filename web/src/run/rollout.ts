/**
 * Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3): how the attention of
 * all blocks adds up, if half of a token stays what it was and the other half is mixed by the mean of its heads.
 */

import type { Source } from "./source.ts";

/** Squares of a text [query × key], row after row. */
export interface Rolled {
  readonly tokens: number;
  /** Of which tokens each token is made after each block: shares that add up to 1. */
  readonly blocks: readonly Float64Array[];
  /** What each block mixes: half the token itself, half the mean of the heads’ weights. */
  readonly mixes: readonly Float64Array[];
}

/** Of the attentions of these weights, one a block; undefined where this page does not have them all. */
export async function rolledOut(
  source: Source,
  weights: readonly string[],
  sentence: number,
): Promise<Rolled | undefined> {
  const [blocks, mixes]: [Float64Array[], Float64Array[]] = [[], []];
  let tokens = 0;
  for (const name of weights) {
    const [sentences = 1, heads = 1, queries = 0] = source.shape(name) ?? [];
    const found = await source.numbersAt(name, [Math.min(sentence, sentences - 1)]);
    if (found === undefined) return undefined;
    tokens = queries;
    const mix = mixOf(found, heads, tokens);
    const before = blocks.at(-1);
    mixes.push(mix);
    blocks.push(before === undefined ? mix : product(mix, before, tokens));
    // A long text takes a second: the page stays alive.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { tokens, blocks, mixes };
}

/** Each row adds up to 1, also that of a token that may look at nothing. */
export function mixOf(weights: ArrayLike<number>, heads: number, tokens: number): Float64Array {
  const mix = new Float64Array(tokens * tokens);
  for (let head = 0; head < heads; head++) {
    const from = head * mix.length;
    for (let place = 0; place < mix.length; place++) {
      mix[place] = (mix[place] ?? 0) + (weights[from + place] ?? 0) / heads / 2;
    }
  }
  for (let query = 0; query < tokens; query++) {
    const row = mix.subarray(query * tokens, (query + 1) * tokens);
    row[query] = (row[query] ?? 0) + 0.5;
    const sum = row.reduce((all, share) => all + share, 0);
    for (let key = 0; key < tokens; key++) row[key] = (row[key] ?? 0) / sum;
  }
  return mix;
}

function product(left: Float64Array, right: Float64Array, tokens: number): Float64Array {
  const found = new Float64Array(left.length);
  for (let query = 0; query < tokens; query++) {
    const into = found.subarray(query * tokens, (query + 1) * tokens);
    for (let by = 0; by < tokens; by++) {
      const share = left[query * tokens + by] ?? 0;
      if (share === 0) continue;
      const row = right.subarray(by * tokens, (by + 1) * tokens);
      for (let key = 0; key < tokens; key++) into[key] = (into[key] ?? 0) + share * (row[key] ?? 0);
    }
  }
  return found;
}
