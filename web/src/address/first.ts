/** Which number is in hand when the page opens. */

import { isMark } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import { at } from "../numbers/safetensors.ts";
import type { Formula } from "../record/record.ts";
import type { Store } from "../run/store.ts";
import type { Level, State } from "./state.ts";

/** A weight above this leaves nothing to share out: its formula would show 1 = 1. */
const SHARED = 0.95;

/**
 * The largest shared attention weight with which the first hidden word, or else the last one, looks at another word; in
 * the sentence that was asked for, or else in that of the first hidden word. Where that is less than an even share, the
 * largest of all words. Marks and punctuation are no words.
 */
export function largestWeight(store: Store, asked?: number): Partial<State> {
  const { names, fetch } = store;
  const formula = names.run.formulas.find((each) => each.name.endsWith("self_attention.weights"));
  const tensor = formula === undefined ? undefined : fetch(formula.name);
  if (formula === undefined || tensor === undefined) return {};
  const [, heads = 1, queries = 1, keys = 1] = tensor.shape;
  // A decoder's first word can look at nothing else; its last one can look at all.
  const hidden = names.run.words.answers.find(([row]) => asked === undefined || row === asked);
  const sentence = hidden?.[0] ?? Math.min(asked ?? 0, (tensor.shape[0] ?? 1) - 1);
  const row = names.run.words[formula.tokens][sentence] ?? [];
  const words = range(Math.min(keys, row.length)).filter((token) => {
    const { text, hidden } = names.word(formula.tokens, sentence, token);
    return hidden || (/[\p{L}\p{N}]/u.test(text) && !isMark(row[token] ?? ""));
  });
  const query = hidden?.[1] ?? words.at(-1) ?? queries - 1;
  const largest = (those: readonly number[]) => {
    let best = { value: -1, cell: [sentence, 0, query, 0] };
    for (let head = 0; head < heads; head++) {
      for (const from of those) {
        for (const key of words) {
          const cell = [sentence, head, from, key];
          const value = at(tensor, cell);
          if (key !== from && value > best.value && value < SHARED) best = { value, cell };
        }
      }
    }
    return best;
  };
  const own = largest([query]);
  const { cell } = own.value * keys >= 1 ? own : largest([query, ...words]);
  return { tensor: formula.name, cell, sentence };
}

/** The tensor that `largestWeight` reads. */
export function firstWeights(formulas: readonly Formula[]): string[] {
  return formulas
    .filter(({ name }) => name.endsWith("self_attention.weights"))
    .slice(0, 1)
    .map(({ name }) => name);
}

/** The first block; of a model without blocks its first part. */
export function firstUnit(units: readonly string[]): string {
  return units.find((unit) => unit.includes(".blocks.")) ?? units[0] ?? "";
}

/** What a page shows that has no model: words and vectors, or nothing yet but a training. */
export function withoutModel(facts: Readonly<{ [name: string]: unknown }>): Level {
  return Object.keys(facts).length === 0 ? "training" : "mask";
}

/** So many formulas are drawn together at the level of a block. */
const DRAWN_WHOLE = 30;

/** A small model is drawn whole, with all its tensors; of a larger one the parts first. */
export function firstLevel(formulas: readonly Formula[]): Level {
  return formulas.length <= DRAWN_WHOLE ? "block" : "model";
}
