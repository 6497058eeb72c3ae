/**
 * What the heads of an attention do, measured over the tokens of one sentence, and a small picture of each. The measures
 * are those of `look/summaries/head_measures.py`, for the runs that a page does not hold whole.
 */

import { range } from "../numbers/arithmetic.ts";
import { slice, type Tensor } from "../numbers/safetensors.ts";
import type { RunRecord } from "../record/record.ts";

export const MEASURES = [
  "entropy",
  "distance",
  "previous",
  "self",
  "next",
  "first",
  "separator",
  "same_word",
  "largest",
  "even",
] as const;

export type Measure = (typeof MEASURES)[number];

/**
 * Means over the queries. The entropy is in nats, the distance in tokens; the others are shares of the attention: on the
 * token before, the same, the one after, the first, those that close a text, the same word elsewhere, the largest one, and
 * what each would get if all that may be looked at got the same. NaN = the keys are those of another text, or no token is
 * known to close a text, or the two texts have no vocabulary in common.
 */
export type Measured = Readonly<Record<Measure, number>>;

/** All heads of one attention for one sentence. */
export interface Heads {
  /** The largest share in each window of the weights, [head, rows, columns]. */
  readonly thumbnails: Tensor;
  readonly measured: readonly Measured[];
  /** Where a part of the text is hidden: the share of each head’s attention that is shown. The measures are of that. */
  readonly shown?: readonly number[];
}

/** Which queries are no padding, which keys close a text or are the same word; undefined = all, not known. */
export interface Given {
  readonly real: ArrayLike<number> | undefined;
  readonly closes: ((key: number) => boolean) | undefined;
  /** Whether a key is the query's word at another place. */
  readonly same: ((query: number, key: number) => boolean) | undefined;
  readonly crossing: boolean;
  /** Whether a query may look at a key; what heads or sentences share has size 1. */
  readonly mayLook: Tensor | undefined;
  /** Where the rows and columns stand in the text, if not all of it is there. */
  readonly places?: { readonly queries: readonly number[]; readonly keys: readonly number[] };
}

/** Heads worked out from the weights themselves; undefined where these are not to be had. */
export async function headsOf(
  run: RunRecord,
  tensor: (name: string) => Promise<Tensor | undefined>,
  attention: string,
  sentence: number,
  dots: number,
): Promise<Heads | undefined> {
  const name = `${attention}.weights`;
  const formula = run.formulas.find((each) => each.name === name);
  const weights = formula === undefined ? undefined : await tensor(name);
  if (formula === undefined || weights === undefined) return undefined;
  const [queries = 1, keys = 1] = weights.shape.slice(2);
  const row = async (fact: string, length: number): Promise<ArrayLike<number> | undefined> => {
    const found = fact in run.facts ? await tensor(fact) : undefined;
    return found === undefined ? undefined : slice(found.data, sentence * length, length);
  };
  const real = await row(`${formula.tokens}.real`, queries);
  const ids = await row(`${formula.keys}.ids`, keys);
  const closing = run.words.closing?.[formula.keys];
  const closes = ids === undefined || closing === undefined ? undefined : (key: number) => ids[key] === closing;
  const mayLook = await tensor(`${attention}.may_look`);
  const crossing = formula.tokens !== formula.keys;
  const looking = crossing ? await row(`${formula.tokens}.ids`, queries) : ids;
  const apart = crossing && (run.words.source_vocabulary?.length ?? 0) > 0;
  const same =
    apart || ids === undefined || looking === undefined
      ? undefined
      : (query: number, key: number) => looking[query] === ids[key] && (crossing || query !== key);
  const given: Given = { real, closes, same, crossing, mayLook };
  return measureHeads(weights, Math.min(sentence, (weights.shape[0] ?? 1) - 1), given, dots);
}

/** `from`: the head that the first of these weights belongs to, where not all are there. */
export function measureHeads(weights: Tensor, sentence: number, given: Given, dots: number, from = 0): Heads {
  const [, heads = 1, queries = 1, keys = 1] = weights.shape;
  const measured: Measured[] = [];
  const shown: number[] = [];
  const [rows, columns] = [Math.min(queries, dots), Math.min(keys, dots)];
  const pictures = new Float32Array(heads * rows * columns);
  for (let head = 0; head < heads; head++) {
    const square = slice(weights.data, (sentence * heads + head) * queries * keys, queries * keys);
    const allowed = allowedIn(given.mayLook, sentence, from + head, queries, keys);
    const [found, share] = measuresOf(square, allowed, queries, keys, given);
    measured.push(found);
    shown.push(share);
    pictures.set(pooled(square, queries, keys, rows, columns), head * rows * columns);
  }
  const thumbnails = { shape: [heads, rows, columns], data: pictures };
  return given.places === undefined ? { thumbnails, measured } : { thumbnails, measured, shown };
}

/** For each query how many keys a head may look at; what sentences, heads or queries share has size 1. */
function allowedIn(
  tensor: Tensor | undefined,
  sentence: number,
  head: number,
  queries: number,
  keys: number,
): number[] {
  const [sentences = 1, heads = 1, rows = 1] = tensor?.shape ?? [];
  const place = Math.min(sentence, sentences - 1) * heads + Math.min(head, heads - 1);
  return range(queries, (query) => {
    if (tensor === undefined) return keys;
    const row = slice(tensor.data, (place * rows + Math.min(query, rows - 1)) * keys, keys);
    let count = 0;
    for (let key = 0; key < keys; key++) count += Number(row[key] !== 0);
    return count;
  });
}

function measuresOf(
  square: ArrayLike<number>,
  allowed: readonly number[],
  queries: number,
  keys: number,
  given: Given,
): [Measured, shown: number] {
  let [entropy, distance, previous, self, next] = [0, 0, 0, 0, 0];
  let [first, separator, same, largest, even, counted, real] = [0, 0, 0, 0, 0, 0, 0];
  const { places } = given;
  for (let query = 0; query < queries; query++) {
    if (given.real !== undefined && given.real[query] === 0) continue;
    // Where not all keys are there, a query counts by what it gives to those that are.
    let mass = 1;
    if (places !== undefined) {
      mass = 0;
      for (let key = 0; key < keys; key++) mass += square[query * keys + key] ?? 0;
    }
    real += 1;
    counted += mass;
    const own = places?.queries[query] ?? query;
    let most = 0;
    for (let key = 0; key < keys; key++) {
      const share = square[query * keys + key] ?? 0;
      if (share <= 0) continue;
      if (share > most) most = share;
      const at = places?.keys[key] ?? key;
      entropy -= share * Math.log(share / mass);
      distance += share * Math.abs(at - own);
      if (at === own - 1) previous += share;
      else if (at === own) self += share;
      else if (at === own + 1) next += share;
      if (at === 0) first += share;
      if (given.closes?.(key) === true) separator += share;
      if (given.same?.(query, key) === true) same += share;
    }
    largest += most;
    even += mass / Math.max(allowed[query] ?? 0, 1);
  }
  const within = given.crossing ? Number.NaN : 1;
  const sums: Measured = {
    entropy,
    distance: distance * within,
    previous: previous * within,
    self: self * within,
    next: next * within,
    first,
    separator: given.closes === undefined ? Number.NaN : separator,
    same_word: given.same === undefined ? Number.NaN : same,
    largest,
    even,
  };
  return [measuredFrom((measure) => Math.fround(sums[measure] / counted)), counted / Math.max(real, 1)];
}

/** Measures from a list of numbers in the order of their names. */
export function measuredFrom(value: (measure: Measure) => number): Measured {
  return Object.fromEntries(MEASURES.map((measure) => [measure, value(measure)])) as Record<Measure, number>;
}

/** The largest share in each window. Windows overlap by a token where the sizes do not divide. */
export function pooled(
  square: ArrayLike<number>,
  queries: number,
  keys: number,
  rows: number,
  columns: number,
): Float32Array<ArrayBuffer> {
  const found = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const [top, bottom] = windowAt(row, rows, queries);
    for (let column = 0; column < columns; column++) {
      const [left, right] = windowAt(column, columns, keys);
      let most = 0;
      for (let query = top; query < bottom; query++) {
        for (let key = left; key < right; key++) most = Math.max(most, square[query * keys + key] ?? 0);
      }
      found[row * columns + column] = most;
    }
  }
  return found;
}

/** The tokens [from, to) that a dot stands for. */
export function windowAt(dot: number, dots: number, tokens: number): [number, number] {
  return [Math.floor((dot * tokens) / dots), Math.ceil(((dot + 1) * tokens) / dots)];
}
