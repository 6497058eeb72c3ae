/** What a run guesses at each place of a text that is written, and what stands there. */

import { at } from "../../run/safetensors.ts";
import type { Said, Shown } from "../../scenes/said.ts";
import type { Given, Scout } from "../../scenes/scout.ts";
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
  /** The word that stands next in the text, and its probability; nothing after the last one. */
  readonly next?: { readonly word: Said; readonly share: Shown; readonly best: boolean };
}

/** The side whose words are guessed. */
export function sideOf(s: Scout): "inputs" | "decoder_inputs" {
  return s.formula(PROBABILITIES)?.tokens ?? s.side;
}

export function guessesOf(s: Scout): Guess[] {
  const side = sideOf(s);
  const ids = s.tensor(`${side}.ids`);
  return s.guesses.slice(-PLACES).flatMap(({ given, token, word }): Guess[] => {
    const [first] = s.likeliest(given, 1);
    if (first === undefined) return [];
    const guess = { given, token, word, best: first.word, share: first.share };
    if (token + 1 >= (ids.shape[1] ?? 0)) return [guess];
    const share = s.share(PROBABILITIES, { ...given, vocabulary: at(ids, [s.sentence, token + 1]) });
    const { text } = s.names.word(side, s.sentence, token + 1);
    const best = share.cell.join() === first.share.cell.join();
    return [{ ...guess, next: { word: { text, of: "strong" }, share, best } }];
  });
}

/** The place that is told of: of a translation where the model was least sure, else where it writes on. */
export function openPlace(s: Scout): Given {
  const all = guessesOf(s);
  const least = all.reduce<Guess | undefined>((least, each) => {
    return least !== undefined && least.share.value <= each.share.value ? least : each;
  }, undefined);
  return (s.crossing === "" ? all.at(-1) : least)?.given ?? {};
}

/** A step that tells of guesses; two tokens and more, where it needs a word and the next one. */
export function guessing(key: string, tokens: number, find: (s: Scout) => Found): Step {
  return {
    key,
    lacks: (s) =>
      !s.writes || s.guesses.length === 0 || !(`${sideOf(s)}.ids` in s.names.run.facts) || s.tokens < tokens,
    reads: () => [PROBABILITIES],
    find,
  };
}

/** The place of a probability, or of a number beside it. */
export function cellOf(s: Scout, guess: Shown | undefined, level: "tensor" | "number" = "tensor"): Found["at"] {
  return { ...s.at(level, PROBABILITIES), ...(guess !== undefined && { cell: guess.cell }) };
}
