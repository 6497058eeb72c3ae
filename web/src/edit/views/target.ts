/** A word of the page in the text that it stands in, and the change that another word makes of it. */

import type { Names } from "../../formulas/names.ts";
import type { Side } from "../../record/record.ts";
import { say } from "../../words/say.ts";
import type { Change, TextChange, Which } from "../changes/changes.ts";
import { MASK } from "../changes/words.ts";
import type { Session } from "../session/session.ts";

export type Edit =
  | { readonly kind: "word"; readonly word: string }
  | { readonly kind: "mask" | "out" }
  | { readonly kind: "after"; readonly word: string };

/** A stretch of one of the texts. */
interface Target {
  readonly which: Which;
  /** In a change. */
  readonly row: number;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The word that a token belongs to; null for a token that was added, and where texts are not known. */
export function targetOf(session: Session, names: Names, side: Side, sentence: number, token: number): Target | null {
  if (session.engine.words !== "text") return null;
  const { run } = names;
  if (!("spans" in run)) {
    const text = session.text("text", sentence);
    const words = [...(text ?? "").matchAll(/\S+/g)];
    const found = words[token];
    if (text === null || found === undefined || side !== "inputs") return null;
    return {
      which: "text",
      row: session.row("text", sentence),
      text,
      start: found.index,
      end: found.index + found[0].length,
    };
  }
  const spans = run.spans as Readonly<
    Record<Side, readonly (readonly (readonly [number, number, number] | null)[])[] | null>
  >;
  const span = spans[side]?.[sentence]?.[token] ?? null;
  if (span === null) return null;
  const choices = session.text("choice", 0) !== null;
  const which: Which = span[0] === 0 ? "text" : choices ? "choice" : "second";
  const row = which === "text" && choices ? 0 : sentence;
  const text = session.text(which, row);
  if (text === null) return null;
  // A token that is a part of a word stands for the word. Offsets count characters, JavaScript's strings count halves of some of them.
  const letters = [...text];
  let [start, end] = [span[1], span[2]];
  const inside = (at: number): boolean => /[\p{L}\p{N}\p{M}]/u.test(letters[at] ?? "");
  if (inside(start) && !text.includes(MASK)) {
    while (start > 0 && inside(start - 1)) start -= 1;
    while (end < letters.length && inside(end)) end += 1;
  }
  const length = (count: number): number => letters.slice(0, count).join("").length;
  return { which, row: session.row(which, row), text, start: length(start), end: length(end) };
}

/** Whether a token may be of a word of a text: decided without the text, for there are many words on a page. */
export function standsInText(session: Session, names: Names, side: Side, sentence: number, token: number): boolean {
  if (session.engine.words !== "text") return false;
  if (!("spans" in names.run)) return targetOf(session, names, side, sentence, token) !== null;
  const spans = names.run.spans as Readonly<Record<Side, readonly (readonly unknown[])[] | null>>;
  return (spans[side]?.[sentence]?.[token] ?? null) !== null;
}

/** The text with the edit made. */
export function edited({ which, row, text, start, end }: Target, edit: Edit): TextChange {
  const [before, own, after] = [text.slice(0, start), text.slice(start, end), text.slice(end)];
  const now = {
    word: "word" in edit ? edit.word.trim() : "",
    mask: MASK,
    out: "",
    after: `${own} ${"word" in edit ? edit.word.trim() : ""}`,
  };
  const made = now[edit.kind];
  // A word that is left out takes the blank before it along.
  const head = made === "" ? before.replace(/\s+$/, "") : before;
  return { kind: "text", which, row, text: `${head}${made}${after}`.trim() };
}

/** The change of a single token where there are no texts; a sentence where it cannot be made. */
export function tokenChange(names: Names, side: Side, sentence: number, token: number, edit: Edit): Change | string {
  const { vocabulary } = names.run.words;
  const editing = names.run.editing ?? null;
  if (edit.kind === "mask") {
    const id = editing?.mask_id ?? null;
    if (id === null && editing?.marks[side] !== true) return say`This model masks no words.`;
    return { kind: "mask_word", where: side, sentence, token, mask_id: id };
  }
  if (edit.kind !== "word")
    return say`This page cannot make a text longer or shorter: only a live page has the tokenizer.`;
  const word = edit.word.trim();
  const id = [word, `▁${word}`, `Ġ${word}`].map((each) => vocabulary.indexOf(each)).find((each) => each >= 0);
  const number = vocabulary.length === 0 && /^\d+$/.test(word) ? Number(word) : undefined;
  if (id === undefined && number === undefined) return say`“${word}” is no token of this model's vocabulary.`;
  return { kind: "change_word", where: side, sentence, token, id: id ?? number ?? 0 };
}

/** Of so many entries that begin as a word is typed the shortest are shown. */
const LOOKED_AT = 400;

/** The entries of the vocabulary that begin so, the shortest first. */
export function completions(vocabulary: readonly string[], typed: string, most: number): string[] {
  const begun = typed.toLowerCase();
  const found: string[] = [];
  for (const entry of vocabulary) {
    const word = entry.replace(/^[▁Ġ]/, "");
    if (word.toLowerCase().startsWith(begun) && !/^(##|<|\[)/.test(word) && word !== "") found.push(word);
    if (found.length === LOOKED_AT) break;
  }
  return [...new Set(found)].sort((one, two) => one.length - two.length || one.localeCompare(two)).slice(0, most);
}
