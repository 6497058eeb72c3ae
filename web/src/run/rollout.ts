/**
 * Attention rollout (Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3): how the attention of
 * all blocks adds up, if half of a token stays what it was and the other half is mixed by the mean of its heads. As
 * `glassformer/look/summaries/rollout.py`; what a decoder reads of the encoder is treated as the rest.
 */

import type { Names } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import type { Source } from "../sources/source.ts";

/** A stack, rolled out for one sentence. All squares are rows after each other. */
export interface Rolled {
  readonly tokens: number;
  /** Of how many tokens each is made: its own stack's, after them those of the encoder where it reads them. */
  readonly sources: number;
  /** After each block the shares [token × source]: they add up to 1. */
  readonly blocks: readonly Float64Array[];
  /** What each block mixes [token × token]: the token itself and the mean of the heads. */
  readonly mixes: readonly Mix[];
  /** The encoder, rolled out, where the decoder reads it. */
  readonly memory?: Rolled;
}

export interface Mix {
  readonly weights: string;
  readonly residual: boolean;
  readonly own: Float64Array;
  /** What is read of the encoder [token × token of the encoder], and how much stays as it was. */
  readonly crossed?: { readonly weights: string; readonly stays: number; readonly read: Float64Array };
}

/** Undefined where this page does not have all weights that it takes. */
export async function rolledOut(
  source: Source,
  names: Names,
  stack: string,
  sentence: number,
): Promise<Rolled | undefined> {
  const [blocks, mixes]: [Float64Array[], Mix[]] = [[], []];
  const attention = (index: number, kind: string): string => `${stack}.blocks.${index}.${kind}_attention`;
  const known = (name: string): boolean => names.formulas.has(name);
  const crosses = known(`${attention(0, "cross")}.weights`);
  const memory = crosses ? await rolledOut(source, names, "encoder", sentence) : undefined;
  let [tokens, sources] = [0, 0];
  for (let block = 0; known(`${attention(block, "self")}.weights`); block++) {
    const self = await meanOf(source, names, attention(block, "self"), sentence);
    if (self === undefined) return undefined;
    tokens = self.queries;
    sources = tokens + (memory?.tokens ?? 0);
    const mix: Mix = { weights: self.weights, residual: self.residual, own: self.mean };
    let made = blocks.at(-1) ?? spread(tokens, sources);
    made = product(mix.own, made, tokens, sources);
    const cross = crosses ? await meanOf(source, names, attention(block, "cross"), sentence, false) : undefined;
    if (crosses && (cross === undefined || memory === undefined)) return undefined;
    if (cross === undefined || memory === undefined) mixes.push(mix);
    else {
      const stays = known(`${attention(block, "cross")}.residual`) ? 0.5 : 0;
      const read = product(cross.mean, memory.blocks.at(-1) ?? new Float64Array(), cross.keys, memory.sources);
      made = made.map((share, place) => {
        const [query, key] = [Math.floor(place / sources), place % sources];
        const added = key < tokens ? 0 : (read[query * memory.sources + key - tokens] ?? 0);
        return stays * share + (1 - stays) * added;
      });
      mixes.push({ ...mix, crossed: { weights: cross.weights, stays, read: cross.mean } });
    }
    blocks.push(made);
    // A long text takes a second: the page stays alive.
    await new Promise((resolve) => setTimeout(resolve));
  }
  return { tokens, sources, blocks, mixes, ...(memory === undefined ? {} : { memory }) };
}

/** The mean of an attention's heads, with the token itself where the layer has a residual connection; rows add up to 1. */
async function meanOf(source: Source, names: Names, attention: string, sentence: number, stays = true) {
  const weights = `${attention}.weights`;
  const [sentences = 1, heads = 1, queries = 0, keys = 0] = source.shape(weights) ?? [];
  const found = await source.numbersAt(weights, [Math.min(sentence, sentences - 1)]);
  if (found === undefined) return undefined;
  const residual = stays && names.formulas.has(`${attention}.residual`);
  const mean = new Float64Array(queries * keys);
  for (let head = 0; head < heads; head++) {
    for (let place = 0; place < mean.length; place++) {
      mean[place] = (mean[place] ?? 0) + (found[head * mean.length + place] ?? 0) / heads;
    }
  }
  for (let query = 0; query < queries; query++) {
    const row = mean.subarray(query * keys, (query + 1) * keys);
    if (residual) row[query] = (row[query] ?? 0) + 1;
    const sum = Math.max(
      row.reduce((all, share) => all + share, 0),
      Number.MIN_VALUE,
    );
    for (let key = 0; key < keys; key++) row[key] = (row[key] ?? 0) / sum;
  }
  return { weights, mean, queries, keys, residual };
}

/** Before the first block each token is itself. */
function spread(tokens: number, sources: number): Float64Array {
  const found = new Float64Array(tokens * sources);
  for (let token = 0; token < tokens; token++) found[token * sources + token] = 1;
  return found;
}

/** [rows × inner] times [inner × columns]. */
function product(left: Float64Array, right: Float64Array, inner: number, columns: number): Float64Array {
  const rows = left.length / inner;
  const found = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const into = found.subarray(row * columns, (row + 1) * columns);
    for (let by = 0; by < inner; by++) {
      const share = left[row * inner + by] ?? 0;
      if (share === 0) continue;
      const from = by * columns;
      for (let column = 0; column < columns; column++) {
        into[column] = (into[column] ?? 0) + share * (right[from + column] ?? 0);
      }
    }
  }
  return found;
}

/** By way of which token a share came: how much of it is taken, and how much of the source it held before. */
export interface Way {
  readonly by: number;
  readonly crossing: boolean;
  readonly taken: number;
  readonly held: number;
}

/** What a share after a block is the sum of, the largest first. */
export function waysOf({ tokens, sources, blocks, mixes, memory }: Rolled, at: readonly number[]): Way[] {
  const [block = 0, query = 0, key = 0] = at;
  const mix = mixes[block];
  if (mix === undefined) return [];
  const { own, crossed } = mix;
  const ways = range(tokens, (by): Way => {
    const held = block === 0 ? Number(by === key) : (blocks[block - 1]?.[by * sources + key] ?? 0);
    return { by, crossing: false, taken: (own[query * tokens + by] ?? 0) * (crossed?.stays ?? 1), held };
  });
  if (crossed !== undefined && memory !== undefined && key >= tokens) {
    const last = memory.blocks.at(-1);
    for (let by = 0; by < memory.tokens; by++) {
      const taken = (crossed.read[query * memory.tokens + by] ?? 0) * (1 - crossed.stays);
      ways.push({ by, crossing: true, taken, held: last?.[by * memory.sources + key - tokens] ?? 0 });
    }
  }
  const found = ways.filter(({ taken, held }) => taken * held > 0);
  return found.sort((one, two) => two.taken * two.held - one.taken * one.held);
}
