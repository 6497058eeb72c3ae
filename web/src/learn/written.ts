/** A training as the address has it: sentences, hidden words, exercise, seed and rate. */

import { type Choice, EXERCISES, type Exercise, isWriter } from "./choice.ts";
import { DAYS } from "./letters.ts";
import type { Thinned } from "./thinned.ts";

export interface Begun {
  readonly choice: Choice;
  readonly seed: number;
  readonly rate: number;
}

/** What differs from how a training begins without an address, one entry each; no entry has a comma. */
export function writtenLesson({ choice, seed, rate }: Begun, first: Begun): string[] {
  const found: string[] = [];
  if (choice.exercise !== first.choice.exercise) found.push(`x.${choice.exercise}`);
  if (seed !== first.seed) found.push(`seed.${seed}`);
  if (rate !== first.rate) found.push(`rate.${rate}`);
  const usual = isWriter(choice.exercise) ? { ...first.choice, sentences: DAYS, hidden: [] } : first.choice;
  const [texts, before] = [textsOf(choice), textsOf(usual)];
  if (texts.join() !== before.join()) for (const text of texts) found.push(`text.${text}`);
  if (hiddenOf(choice) !== hiddenOf(usual)) found.push(`hidden.${hiddenOf(choice)}`);
  return found;
}

/** Reads it; what is not said, or cannot be read, is as in `first`. */
export function parseLesson(options: readonly string[], first: Begun): Begun {
  const under = (name: string): string[] => {
    return options.flatMap((each) => (each.startsWith(`${name}.`) ? [each.slice(name.length + 1)] : []));
  };
  const exercise = EXERCISES.find((each): each is Exercise => each === under("x")[0]) ?? first.choice.exercise;
  const [seed, rate] = [Number(under("seed")[0] ?? Number.NaN), Number(under("rate")[0] ?? Number.NaN)];
  const texts = under("text").map(readWords);
  const letters = isWriter(exercise);
  const usual = letters ? DAYS : first.choice.sentences;
  const sentences = texts.length === usual.length || (letters && texts.length > 0) ? texts : usual;
  const places = under("hidden")[0]
    ?.split(";")
    .map((row) => row.split("-").filter(Boolean).map(Number));
  const inside = (row: readonly number[], at: number): boolean =>
    row.every((each) => each < (sentences[at]?.length ?? 0));
  const fits = places?.length === sentences.length && places.every(inside);
  const hidden = letters
    ? []
    : first.choice.hidden.map((row, at) => row.filter((each) => each < (sentences[at]?.length ?? 0)));
  return {
    choice: { sentences, hidden: places !== undefined && fits && !letters ? places : hidden, exercise },
    seed: Number.isSafeInteger(seed) ? seed : first.seed,
    rate: rate > 0 && Number.isFinite(rate) ? rate : first.rate,
  };
}

function textsOf({ sentences }: Choice): string[] {
  return sentences.map((words) => words.map((word) => encodeURIComponent(word).replaceAll("_", "%5F")).join("_"));
}

function readWords(text: string): string[] {
  return text.split("_").flatMap((word) => {
    try {
      return word === "" ? [] : [decodeURIComponent(word)];
    } catch {
      return [word];
    }
  });
}

function hiddenOf({ hidden }: Choice): string {
  return hidden.map((places) => places.join("-")).join(";");
}

/** At most about so many of the points that are kept: a curve has no more dots across. */
export function fewer(kept: Thinned<number>, most = 600): [step: number, loss: number][] {
  const every = Math.max(1, Math.ceil(kept.steps.length / most));
  const last = kept.steps.length - 1;
  return kept.steps.flatMap((step, at): [number, number][] => {
    return at % every === 0 || at === last ? [[step, kept.kept[at] ?? Number.NaN]] : [];
  });
}
