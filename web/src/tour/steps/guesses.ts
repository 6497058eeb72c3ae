/** What a run guesses at each place of a text that is written, and what stands there. */

import { at } from "../../numbers/safetensors.ts";
import { percent, short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { joined, type Puts, type Said, type Shown } from "../../scout/said.ts";
import type { Given, Scout } from "../../scout/scout.ts";
import type { Found, Step } from "../step.ts";

export const PROBABILITIES = "head.probabilities";

/** So many places are looked through, the last ones. */
const PLACES = 24;

export interface Guess {
  readonly given: Given;
  readonly token: number;
  /** The last word that is read there. */
  readonly word: Said;
  readonly best: Said;
  readonly share: Shown;
  /** The word that stands next in the text, its probability, and whether it is the likeliest; none after the last. */
  readonly next?: { readonly word: Said; readonly share: Shown; readonly best: boolean };
}

/** The side whose words are guessed. */
export function sideOf(s: Scout): Side {
  return s.formula(PROBABILITIES)?.tokens ?? s.side;
}

export function guessesOf(s: Scout): Guess[] {
  const side = sideOf(s);
  const ids = s.tensor(`${side}.ids`);
  // What follows the words of a shorter sentence is padding.
  const tokens = s.names.run.words[side][s.sentence]?.length ?? ids.shape[1] ?? 0;
  const all = s.guesses.filter(({ token }) => token < tokens);
  return all.slice(-PLACES).flatMap(({ given, token, word }): Guess[] => {
    const [first] = s.likeliest(given, 1);
    if (first === undefined) return [];
    const guess = { given, token, word, best: first.word, share: first.share };
    if (token + 1 >= tokens) return [guess];
    const share = s.share(PROBABILITIES, { ...given, vocabulary: at(ids, [s.sentence, token + 1]) });
    const { text } = s.names.word(side, s.sentence, token + 1);
    const best = share.cell.join() === first.share.cell.join();
    return [{ ...guess, next: { word: { text, of: "strong" }, share, best } }];
  });
}

/** Words as they stand in the text; of many the first. */
export function inRow(words: readonly { readonly word: Said }[]): Said[] {
  const shown = words.slice(0, 8).map(({ word }) => word);
  return joined(words.length > shown.length ? [...shown, "…"] : shown, " ");
}

/** The candidates where a translation is least sure; of any other text, where it is written on. */
export function openPlace(s: Scout): {
  readonly puts: Puts;
  readonly best?: Shown | undefined;
  readonly next?: Shown | undefined;
} {
  const all = guessesOf(s);
  const least = all.reduce((most, { share }, place) => (share.value < (all[most]?.share.value ?? 0) ? place : most), 0);
  const found = s.crossing === "" ? all.at(-1) : all[least];
  if (found === undefined) return { puts: {} };
  const three = s.likeliest(found.given, 3);
  const [best, next = best] = three;
  const listed = three.map(({ word, share }): Said[] => [word, " ", share]);
  const rest = 1 - three.reduce((sum, { share }) => sum + share.value, 0);
  return {
    puts: {
      ...{ word: found.word, best: best?.word, share: best?.share, next: next?.word, less: next?.share },
      ...{ candidates: joined(listed, ", "), rest: percent(Math.max(rest, 0)), size: s.shape(PROBABILITIES).at(-1) },
      ratio: short((best?.share.value ?? 0) / (next?.share.value ?? 1), 1),
    },
    best: best?.share,
    next: next?.share,
  };
}

/** A step about guesses, in texts of so many tokens and more. */
export function guessing(key: string, tokens: number, find: (s: Scout) => Found): Step {
  return {
    key,
    lacks: (s) => !s.writes || s.guesses.length === 0 || !known(s) || s.tokens < tokens,
    find,
  };
}

const known = (s: Scout): boolean => `${sideOf(s)}.ids` in s.names.run.facts;

/** The place of a probability. */
export function shown(s: Scout, guess: Shown | undefined, level: "tensor" | "number" = "tensor"): Found["at"] {
  return { ...s.at(level, PROBABILITIES), picture: "sorted", ...(guess !== undefined && { cell: guess.cell }) };
}
