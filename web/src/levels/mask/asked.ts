/** What the address asks of the mask workshop: whose vectors, which words are hidden, which cells were changed. */

import { lastOf, type Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import { type Asked, READINGS } from "./activity.ts";

/** At most so many words are drawn. */
export const WORDS = 40;

/** The tensors that have a vector for each word of a text, and may be compared: the first is offered first. */
export function vectorsOf({ run }: Names): string[] {
  const made = run.formulas.map((formula) => formula.name).filter((name) => /embed\.(sum|word|norm)$/.test(name));
  const sums = made.filter((name) => lastOf(name) === "sum");
  return [
    ...sums,
    ...made.filter((name) => lastOf(name) !== "sum"),
    ...Object.keys(run.facts).filter((name) => name === "features"),
  ];
}

/** Whether a word is hidden from the start: a masked one. */
export function hiddenAtFirst(names: Names, from: string, sentence: number, token: number): boolean {
  const side = names.side(from, "token") ?? "inputs";
  return names.word(side, sentence, token).hidden || names.run.words[side][sentence]?.[token] === "[MASK]";
}

/** The address as a wish: `hide.3` and `show.3` change what is hidden from the start, `flip.2-5` changes a cell. */
export function askedOf(
  options: readonly string[],
  names: Names,
  from: string,
  features: Tensor,
  sentence: number,
): Asked {
  const [rows = 1, tokens = 0] = features.shape;
  const here = Math.min(sentence, rows - 1);
  // Padding is no word.
  const text = names.run.words[names.side(from, "token") ?? "inputs"][here];
  const words = Math.min(tokens, text?.length ?? tokens, WORDS);
  const every = range(words);
  const hidden = every.filter((token) => {
    return (
      options.includes(`hide.${token}`) ||
      (hiddenAtFirst(names, from, here, token) && !options.includes(`show.${token}`))
    );
  });
  return {
    ...{ features, from, sentence: here, words, hidden: new Set(hidden) },
    reading: READINGS.find((each) => options.includes(each)) ?? "stated",
    nothing: options.includes("zero") ? "zero" : "itself",
    ...{ window: count(options, "window"), prefix: count(options, "prefix"), padding: count(options, "padding") },
    flipped: new Set(options.flatMap((each) => (each.startsWith("flip.") ? [each.slice(5)] : []))),
  };
}

/** The number of an option `name.3`; 0 where it is not given. */
function count(options: readonly string[], name: string): number {
  return Math.max(Number(options.find((each) => each.startsWith(`${name}.`))?.slice(name.length + 1)) || 0, 0);
}

/** The options with one put in or taken out. */
export function toggled(options: readonly string[], option: string): string[] {
  return options.includes(option) ? options.filter((each) => each !== option) : [...options, option];
}
