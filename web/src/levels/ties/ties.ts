/** Does some head tie a word to one word more than to others? The heads, the words that are asked about, and the answer. */

import { blockOf, isAttention } from "../../formulas/attention.ts";
import { operandsOf } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import type { Side } from "../../record/record.ts";
import { cosineOf, type Looks, vectorOf } from "../../run/looks.ts";
import type { Source } from "../../sources/source.ts";
import { say } from "../../words/say.ts";
import type { Unit } from "../head/units.ts";

/** The attentions of one kind, in the order of their blocks. */
export interface Kind {
  /** As the address writes it: `encoder-self`. */
  readonly id: string;
  readonly title: string;
  readonly weights: readonly string[];
  readonly queries: Side;
  readonly keys: Side;
}

export function kindsOf(names: Names): Kind[] {
  const found = new Map<string, Kind & { weights: string[] }>();
  for (const formula of names.run.formulas) {
    const [side = "", part = ""] = /^(en|de)coder\..*\.(self|cross)_attention\./.exec(formula.name)?.slice(1) ?? [];
    if (part === "" || !isAttention(formula)) continue;
    const id = `${side}coder-${part}`;
    const title =
      part === "cross" ? say`from decoder to encoder` : side === "en" ? say`in the encoder` : say`in the decoder`;
    const known = found.get(id) ?? { id, title, weights: [], queries: formula.tokens, keys: formula.keys };
    known.weights.push(formula.name);
    found.set(id, known);
  }
  return [...found.values()];
}

/** What the source documents ask of their sentences: a word, and the words that it may be tied to. */
const ASKED: readonly (readonly [word: string, of: readonly string[]])[] = [
  ["it", ["animal", "street", "tired"]],
  ["you", ["how", "are"]],
];

/** The words of a document’s question, where the text has them: the one that looks first. */
export function askedIn(queries: readonly Unit[], keys: readonly Unit[]): number[] | null {
  const place = (units: readonly Unit[], word: string): number => {
    return units.findLastIndex(({ text }) => text.toLowerCase() === word);
  };
  for (const [word, of] of ASKED) {
    const found = [place(queries, word), ...of.map((each) => place(keys, each)).filter((each) => each >= 0)];
    if ((found[0] ?? -1) >= 0 && found.length > 2) return found;
  }
  return null;
}

/** The word that is asked about where no document asks: the first hidden one, or else the last that is a word. */
export function wordIn(units: readonly Unit[]): number {
  const hidden = units.findIndex((unit) => unit.hidden);
  return hidden >= 0 ? hidden : Math.max(units.findLastIndex(isWord), 0);
}

function isWord({ mark, text }: Unit): boolean {
  return !mark && /[\p{L}\p{N}]/u.test(text);
}

/** The two words that some head looks at most, the word itself left out. */
export function othersIn(looks: readonly Looks[], keys: readonly Unit[], own: number): number[] {
  const most = keys.map((unit, key) => {
    if (key === own || !isWord(unit)) return -1;
    return Math.max(...looks.flatMap(({ heads }) => heads.map((row) => summed(row, unit))));
  });
  const order = [...most.keys()].filter((key) => (most[key] ?? -1) >= 0);
  return order.sort((one, two) => (most[two] ?? 0) - (most[one] ?? 0)).slice(0, 2);
}

/** The weight of a word: that of its tokens together. */
export function summed(row: Float64Array, unit: Unit): number {
  return unit.tokens.reduce((sum, token) => sum + (row[token] ?? 0), 0);
}

/** How much one head looks at each of the words; `lead`: at the first more than at any other. */
export interface Tie {
  readonly id: string;
  readonly weights: string;
  readonly block: string;
  readonly head: number;
  readonly shares: readonly number[];
  readonly lead: number;
}

export function tiesOf(looks: readonly Looks[], targets: readonly Unit[]): Tie[] {
  return looks.flatMap(({ weights, heads }) =>
    heads.map((row, head): Tie => {
      const shares = targets.map((unit) => summed(row, unit));
      const lead = (shares[0] ?? 0) - Math.max(0, ...shares.slice(1));
      return { id: `${weights} ${head}`, weights, block: blockOf(weights), head, shares, lead };
    }),
  );
}

/** A head ties a word to one more than to others where it gives that one so much more of its attention. */
export const LEAD = 0.1;

/** The tie with the largest number. */
export function largestTie(ties: readonly Tie[], by: (tie: Tie) => number): Tie | undefined {
  return ties.reduce<Tie | undefined>(
    (best, tie) => (best === undefined || by(tie) > by(best) ? tie : best),
    undefined,
  );
}

/** How alike the vectors of the word and of the others are, in one tensor. */
export interface Alike extends Stream {
  readonly cosines: readonly number[];
}

/** Vectors of words: those of the table, `block` empty, or those that enter a block. */
export interface Stream {
  readonly tensor: string;
  readonly block: string;
}

export function streamsOf({ weights }: Kind, names: Names): Stream[] {
  const entering = weights.flatMap((name): Stream[] => {
    const added = names.formulas.get(name.replace(/weights$/, "residual"));
    const stream = added === undefined ? undefined : operandsOf(added.rule).find(([role]) => role === "stream")?.[1];
    return stream === undefined ? [] : [{ tensor: stream.name, block: blockOf(name) }];
  });
  const word = `${weights[0]?.split(".")[0] ?? ""}.embed.word`;
  return names.formulas.has(word) ? [{ tensor: word, block: "" }, ...entering] : entering;
}

export async function alikeIn(
  source: Source,
  streams: readonly Stream[],
  sentence: number,
  word: Unit,
  targets: readonly Unit[],
): Promise<Alike[]> {
  const found = await Promise.all(
    streams.map(async (stream): Promise<Alike[]> => {
      const vector = (unit: Unit) => vectorOf(source, stream.tensor, sentence, unit.tokens);
      const [own, ...others] = await Promise.all([word, ...targets].map(vector));
      if (own === undefined) return [];
      return [{ ...stream, cosines: others.map((other) => (other === undefined ? Number.NaN : cosineOf(own, other))) }];
    }),
  );
  return found.flat();
}
