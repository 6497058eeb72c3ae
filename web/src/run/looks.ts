/** One row of every head of an attention: where some tokens look. Of a run that is not here whole only that row is asked for. */

import { range } from "../numbers/arithmetic.ts";
import { numberAt } from "../numbers/dots.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import type { Source } from "../sources/source.ts";

export interface Looks {
  /** The tensor of the weights [sentence, head, query, key]. */
  readonly weights: string;
  /** For each head the weight of each key, the mean over the tokens that look. */
  readonly heads: readonly Float64Array[];
}

/** Undefined where this page does not have the weights. */
export async function looksOf(
  source: Source,
  weights: string,
  sentence: number,
  tokens: readonly number[],
): Promise<Looks | undefined> {
  const shape = source.shape(weights);
  if (shape === undefined || tokens.length === 0) return undefined;
  const [sentences = 1, heads = 1, queries = 1, keys = 1] = shape;
  const row = Math.min(sentence, sentences - 1);
  const bound = tokens.map((token) => Math.min(token, queries - 1));
  const [from, to] = [Math.min(...bound), Math.max(...bound)];
  const tensor = await rowsOf(source, weights, [row, 0, from, 0], [row + 1, heads, to + 1, keys]);
  if (tensor === undefined) return undefined;
  const found = range(heads, (head) => {
    const mean = new Float64Array(keys);
    for (const query of bound) {
      for (let key = 0; key < keys; key++) {
        mean[key] = (mean[key] ?? 0) + numberAt(tensor, [row, head, query, key]) / bound.length;
      }
    }
    return mean;
  });
  return { weights, heads: found };
}

/** A tensor, or a part of it where it is not here whole. */
async function rowsOf(
  source: Source,
  name: string,
  from: readonly number[],
  to: readonly number[],
): Promise<Tensor | undefined> {
  const { large } = source;
  return large?.shape(name) === undefined ? source.tensor(name) : large.window(name, from, to);
}

/** The vector of some tokens in a tensor [sentence, token, channel], their mean; undefined where the page has it not. */
export async function vectorOf(
  source: Source,
  name: string,
  sentence: number,
  tokens: readonly number[],
): Promise<Float64Array | undefined> {
  const [sentences = 1, , width = 0] = source.shape(name) ?? [];
  const row = Math.min(sentence, sentences - 1);
  const [from, to] = [Math.min(...tokens), Math.max(...tokens)];
  const tensor = width === 0 ? undefined : await rowsOf(source, name, [row, from, 0], [row + 1, to + 1, width]);
  if (tensor === undefined) return undefined;
  return Float64Array.from({ length: width }, (_, channel) => {
    return tokens.reduce((sum, token) => sum + numberAt(tensor, [row, token, channel]) / tokens.length, 0);
  });
}

/** The cosine of the angle between two vectors; NaN where one of them is all zeros. */
export function cosineOf(one: Float64Array, two: Float64Array): number {
  const dot = (left: Float64Array, right: Float64Array): number => {
    return left.reduce((sum, value, place) => sum + value * (right[place] ?? 0), 0);
  };
  return dot(one, two) / Math.sqrt(dot(one, one) * dot(two, two));
}
