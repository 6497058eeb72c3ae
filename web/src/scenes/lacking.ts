/** Why a page lacks a section that a picture is drawn from, with the command that gives it; null where it has it. */

import { isOperand } from "../formulas/evaluator.ts";
import { explains, explainsPadded } from "../record/commands.ts";
import type { Scout } from "../scout/scout.ts";
import { heard, say } from "../words/say.ts";
import { paddedSide } from "./board/reading.ts";
import { noVectors } from "./vectors/vectors.ts";

export function noProbe(s: Scout, told: unknown): string | null {
  if (told !== null) return noVectors(s);
  return say`This page has no logistic regression. Learn one with embed compare --probe-out probe.json, and write: ${explains(s.names.run, "--probe probe.json")}`;
}

export function noIndex(s: Scout, told: unknown): string | null {
  if (told !== null) return noVectors(s);
  return say`This page has no index of texts. Make one with search build, and write: ${explains(s.names.run, "--index INDEX")}`;
}

export function noStart(s: Scout, told: unknown): string | null {
  if (told !== null) return null;
  return say`This page does not have the model that this one was tuned from. Name it: ${explains(s.names.run, "--start START")}`;
}

export function notShuffled(s: Scout, told: unknown): string | null {
  if (told !== null) return heard((told as { readonly reason?: string } | undefined)?.reason ?? "") || null;
  const { run } = s.names;
  const command = explains(run, "", run.editing?.texts?.slice(0, 1)).replace("explain", "shuffle").replace("  ", " ");
  return say`This page was written without it: ${command}`;
}

/** Why a run writes nothing. */
export function writes(s: Scout): string | null {
  const how = say`Open a decoder or an encoder–decoder: glassformer explain en-fr "I am a student." --html page.html`;
  if (!s.has("head.probabilities")) return say`This model has no head that guesses words, so it writes nothing. ${how}`;
  if (s.writes) return s.guesses.length > 0 ? null : say`No word of this sentence was guessed.`;
  return say`An encoder reads all words at once and guesses the hidden ones; it writes nothing word after word. ${how}`;
}

export function notTwo({ hidden }: Scout): string | null {
  return hidden.length > 1 ? null : say`Two hidden words of one sentence are compared: this sentence has fewer.`;
}

/** Why a model has no run in which hidden words are set to zeros later; null where it has. */
export function zeroesNothing({ names: { run } }: Scout): string | null {
  const sets = run.formulas.some(({ name, rule }) => name.endsWith(".embed.word") && isOperand(rule["masked_words"]));
  return sets ? null : say`This model reads a hidden word as a token of its vocabulary: it sets no vector to zeros.`;
}

export function padded(s: Scout): string | null {
  if (paddedSide(s) !== undefined) return null;
  const what = s.sentences > 1 ? say`The sentences of this run are equally long` : say`This run has one sentence`;
  return say`${what}, so nothing was filled up. Of two sentences of unequal length the shorter is filled up to the longer; this picture then shows what was filled in, the mask that hides it, and the sentence worked out again without it. Such a page is written by ${explainsPadded(s.names.run)}`;
}
