/** What heads do with a part of a text, or with its words: measured by the page, from the weights of one head after the other. */

import type { Names } from "../formulas/names.ts";
import { grouped } from "../measures/groups.ts";
import { type Heads, measureHeads } from "../measures/heads.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import type { Side } from "../record/record.ts";
import type { Source } from "../sources/source.ts";

/** Some tokens that count as one, and where they stand among those of the whole text. */
export interface Place {
  readonly tokens: readonly number[];
  readonly place: number;
}

export interface Shown {
  readonly queries: readonly Place[];
  readonly keys: readonly Place[];
}

/** Undefined where this page does not have the weights. */
export async function shownHeads(
  source: Source,
  names: Names,
  attention: string,
  sentence: number,
  dots: number,
  { queries, keys }: Shown,
): Promise<Heads | undefined> {
  const name = `${attention}.weights`;
  const formula = names.formulas.get(name);
  const [sentences = 1, heads = 1, , width = 1] = source.shape(name) ?? [];
  if (formula === undefined) return undefined;
  const row = Math.min(sentence, sentences - 1);
  const [looking, seen] = [queries, keys].map((units) => units.map(({ tokens }) => tokens));
  const fact = async (side: Side, last: string): Promise<ArrayLike<number> | undefined> => {
    const found = `${side}.${last}`;
    return found in names.run.facts ? source.numbersAt(found, [sentence]) : undefined;
  };
  const { tokens, keys: side } = formula;
  const [real, ids, own] = [await fact(tokens, "real"), await fact(side, "ids"), await fact(tokens, "ids")];
  const closing = names.run.words.closing?.[side];
  const crossing = tokens !== side;
  const word = (of: ArrayLike<number>, place: Place | undefined): string => {
    return (place?.tokens ?? []).map((token) => of[token]).join();
  };
  const apart = crossing && (names.run.words.source_vocabulary?.length ?? 0) > 0;
  const given = {
    real: real === undefined ? undefined : queries.map((unit) => real[unit.tokens[0] ?? 0] ?? 1),
    closes:
      ids === undefined || closing === undefined
        ? undefined
        : (key: number) => keys[key]?.tokens.some((token) => ids[token] === closing) === true,
    same:
      apart || ids === undefined || own === undefined
        ? undefined
        : (query: number, key: number) => {
            const elsewhere = crossing || queries[query]?.place !== keys[key]?.place;
            return elsewhere && word(own, queries[query]) === word(ids, keys[key]);
          },
    crossing,
    mayLook: await mayLookOf(source, `${attention}.may_look`, sentence, { queries, keys }),
    places: { queries: queries.map(({ place }) => place), keys: keys.map(({ place }) => place) },
  };
  const shape = [1, 1, queries.length, keys.length];
  const each: Heads[] = [];
  // One head after the other: all weights of a long text at once would take gigabytes.
  for (let head = 0; head < heads; head++) {
    const square = await source.numbersAt(name, [row, head]);
    if (square === undefined) return undefined;
    const data = grouped(square, width, looking ?? [], seen ?? []);
    each.push(measureHeads({ shape, data }, 0, given, dots, head));
    if (square.length > AT_ONCE) await new Promise((resolve) => setTimeout(resolve));
  }
  return joined(each);
}

/** After so many weights the page is let go on with what else it does. */
const AT_ONCE = 100_000;

/** Heads that were measured one by one. */
function joined(each: readonly Heads[]): Heads {
  const shape = [each.length, ...(each[0]?.thumbnails.shape.slice(1) ?? [])];
  return {
    thumbnails: { shape, data: each.flatMap(({ thumbnails }) => Array.from(thumbnails.data)) },
    measured: each.flatMap(({ measured }) => measured),
    shown: each.flatMap(({ shown }) => shown ?? []),
  };
}

/** Whether the first token of each row may look at any token of each column. */
async function mayLookOf(
  source: Source,
  name: string,
  sentence: number,
  { queries, keys }: Shown,
): Promise<Tensor | undefined> {
  const [sentences = 1, heads = 1, rows = 1, width = 1] = source.shape(name) ?? [];
  const found = await source.numbersAt(name, [Math.min(sentence, sentences - 1)]);
  if (found === undefined) return undefined;
  const data = new Uint8Array(heads * queries.length * keys.length);
  let at = 0;
  for (let head = 0; head < heads; head++) {
    for (const { tokens } of queries) {
      const from = (head * rows + Math.min(tokens[0] ?? 0, rows - 1)) * width;
      for (const unit of keys) data[at++] = Number(unit.tokens.some((key) => found[from + key] !== 0));
    }
  }
  return { shape: [1, heads, queries.length, keys.length], data };
}
