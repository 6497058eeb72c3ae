/** What has a row: the tokens of a text, or its words; marks and padding are left out on request. */

import { isMark, type Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import type { Side } from "../../record/record.ts";

/** A token, or the tokens of one word. */
export interface Unit {
  readonly tokens: readonly number[];
  readonly text: string;
  /** A masked word. */
  readonly hidden: boolean;
  /** A start, end or separator mark, or padding: no word of the text. */
  readonly mark: boolean;
}

/** Where each token is in its text, as far as that is known; null for a token that was added. */
export type Spans = readonly (readonly [which: number, start: number, end: number] | null)[] | null;

export interface Text {
  readonly names: Names;
  readonly side: Side;
  readonly sentence: number;
  readonly spans: Spans;
  /** How many tokens it has, where its words are not known. */
  readonly count?: number;
  fetch(name: string): Tensor | undefined;
}

export function tokensOf({ names, side, sentence, count = 0, fetch }: Text): Unit[] {
  const real = fetch(`${side}.real`);
  const words = names.run.words[side];
  const row = words[Math.min(sentence, words.length - 1)] ?? new Array<string>(count).fill("");
  return row.map((raw, token) => {
    const { text, hidden } = names.word(side, sentence, token);
    const padding = real !== undefined && at(real, [Math.min(sentence, (real.shape[0] ?? 1) - 1), token]) === 0;
    return { tokens: [token], text, hidden, mark: padding || (!hidden && isMark(raw)) };
  });
}

const [PUNCTUATION, APART] = [
  /^[\p{P}\p{S}]+$/u,
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u,
];

/** The tokens joined to words: by where they stand in the text, or else by the marks of their tokenizer. */
export function wordsOf(text: Text, tokens: readonly Unit[]): Unit[] {
  const { names, side, sentence, spans } = text;
  const raw = names.run.words[side][sentence] ?? [];
  const pieces = names.run.words.vocabulary.some((token) => token.startsWith("##"));
  const blanks = raw.some((token) => token.length > 1 && /^[Ġ▁]/.test(token));
  const joined: Unit[] = [];
  tokens.forEach((unit, place) => {
    const [own, before, last] = [raw[place] ?? "", tokens[place - 1], joined.at(-1)];
    const continues = (): boolean => {
      if (before === undefined || last === undefined || unit.mark || before.mark) return false;
      if (unit.hidden !== before.hidden) return false;
      if (pieces && own.startsWith("##")) return true;
      const [bare, other] = [own.replace(/^[Ġ▁]/, ""), before.text];
      if (APART.test(bare) || APART.test(other)) return false;
      const apart = (each: string): boolean => PUNCTUATION.test(each) && !/^['’]$/.test(each);
      if (apart(bare) || apart(other)) return false;
      const [here, there] = [spans?.[place], spans?.[place - 1]];
      if (here != null && there != null) return here[0] === there[0] && here[1] === there[2];
      return blanks && !/^[Ġ▁]/.test(own);
    };
    if (last !== undefined && continues()) {
      const added = own.replace(/^##/, "");
      joined[joined.length - 1] = { ...last, tokens: [...last.tokens, place], text: last.text + added };
    } else joined.push(unit);
  });
  return joined;
}

/** The rows of a text: its tokens or words, without marks on request, of a pair those of one sentence; never none. */
export function unitsShown(text: Text, options: { words: boolean; bare: boolean }, segment: number | null): Unit[] {
  const segments = segment === null ? null : segmentsOf(text);
  const tokens = tokensOf(text);
  const units = options.words ? wordsOf(text, tokens) : tokens;
  const kept = units.filter((unit) => {
    return !(options.bare && unit.mark) && (segments === null || segments[unit.tokens[0] ?? 0] === segment);
  });
  return kept.length === 0 ? units : kept;
}

/** Whether a text is written from right to left. */
export function isRightToLeft(units: readonly Unit[]): boolean {
  const count = (pattern: RegExp): number => units.filter((unit) => pattern.test(unit.text)).length;
  return count(/[\p{Script=Hebrew}\p{Script=Arabic}]/u) > count(/\p{Script=Latin}/u);
}

/** Which of two sentences each token is of; null where the text is no pair: the last token of a pair is of the second. */
export function segmentsOf({ side, sentence, fetch }: Text): number[] | null {
  const found = fetch(`${side}.segments`);
  if (found === undefined) return null;
  const count = found.shape[1] ?? 0;
  const row = Math.min(sentence, (found.shape[0] ?? 1) - 1);
  const segments = range(count, (token) => at(found, [row, token]));
  const real = fetch(`${side}.real`);
  const last = segments.findLastIndex((_, token) => real === undefined || at(real, [row, token]) !== 0);
  return segments[0] === 0 && segments[last] === 1 ? segments : null;
}
