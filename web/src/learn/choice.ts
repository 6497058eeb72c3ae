/** What is learned in the page: sentences and their hidden words with an exercise, or lines letter by letter. */

import type { Tensor } from "../numbers/safetensors.ts";
import type { RunRecord } from "../record/record.ts";
import { say } from "../words/say.ts";

/** The slides' model is trained on sentences of at most so many words: `length` of its recipe. */
export const LONGEST = 8;

/** So many lines of so many letters are learned letter by letter: a step of them takes some milliseconds. */
export const [MOST_LINES, LONGEST_LINE] = [8, 12];

/** Decoders that learn to write the lines, by size. */
export const WRITERS = ["letters", "letters-norms", "letters-large"] as const;
export type Writes = (typeof WRITERS)[number];

/** The others are the slides' model. */
export const EXERCISES = ["slides", "nothing-hidden", "no-positions", "one-head", "zero-after", ...WRITERS] as const;
export type Exercise = (typeof EXERCISES)[number];

export function isWriter(exercise: Exercise): exercise is Writes {
  return WRITERS.some((each) => each === exercise);
}

export interface Choice {
  readonly sentences: readonly (readonly string[])[];
  /** The places of the hidden words of each sentence. */
  readonly hidden: readonly (readonly number[])[];
  readonly exercise: Exercise;
}

export interface Setup {
  readonly choice: Choice;
  /** The run that the page would have of this model and these sentences. */
  readonly run: RunRecord;
  /** What it is computed from besides its weights; the labels are the hidden words. */
  readonly facts: ReadonlyMap<string, Tensor>;
  /** The words that were not in the model's table, and are now. */
  readonly added: readonly string[];
}

/** Why a training cannot begin with these sentences; empty: it can. */
export function refusal({ sentences, hidden, exercise }: Choice): string {
  if (isWriter(exercise)) return refusalOfLines(sentences);
  const empty = sentences.findIndex((words) => words.length === 0);
  if (empty >= 0) return say`Sentence ${empty} is empty: it needs at least one word.`;
  const long = sentences.findIndex((words) => words.length > LONGEST);
  if (long >= 0)
    return say`Sentence ${long} has ${sentences[long]?.length} words; the slides’ model reads at most ${LONGEST}. Leave some out.`;
  if (sentences.flat().includes("[MASK]"))
    return say`Write the words themselves in place of [MASK]; then click a word to hide it.`;
  if (hidden.every((places) => places.length === 0))
    return say`No word is hidden: the loss is that of the hidden words. Click a word to hide it.`;
  return "";
}

function refusalOfLines(lines: readonly (readonly string[])[]): string {
  if (lines.length === 0) return say`There is no line to learn: write at least one.`;
  if (lines.length > MOST_LINES)
    return say`There are ${lines.length} lines; at most ${MOST_LINES} are learned here. Leave some out.`;
  const long = lines.find((letters) => letters.length > LONGEST_LINE);
  if (long !== undefined)
    return say`“${long.join("")}” has ${long.length} letters; a line has at most ${LONGEST_LINE} here. Make it shorter.`;
  return lines.some((letters) => letters.length === 0) ? say`A line is empty: it needs at least one letter.` : "";
}
