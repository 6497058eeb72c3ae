/** What a live page asks its server to write: each search once. */

import { state } from "../../../address/state.ts";
import type { TreeWish } from "../../../record/wishes.ts";
import type { HttpSource } from "../../../sources/http_source.ts";
import { problemOf } from "../../../sources/refused.ts";
import { say } from "../../../words/say.ts";
import { begun, draws, isCold, option, writtenBy } from "../written/options.ts";
import { Search, type SearchRecord } from "../written/search.ts";

/** Searches that were asked for, by the wish; they never change. */
const asked = new Map<string, Promise<Search>>();
const MOST = 48;

/** So many tokens are written where nobody says otherwise, but for translations: a story has no length of its own. */
export const TOKENS = 40;

function wishFor(source: HttpSource, text: string, options: readonly string[]): TreeWish {
  const number = (name: string): number | undefined => {
    const typed = option(name, options);
    return typed === "" || Number.isNaN(Number(typed)) ? undefined : Number(typed);
  };
  const { model } = source.run.asked;
  const by = writtenBy(source.run);
  const more = by === "translation" ? {} : { max_tokens: number("tokens") ?? TOKENS };
  const begins = begun(options);
  const drawn = draws(by, options);
  if (drawn && isCold(options)) return { model, text, beams: 1, begins, ...more };
  const ways = drawn
    ? {
        ...{ sample: true, temperature: number("temperature"), top_k: number("top-k"), top_p: number("top-p") },
        ...{ seed: number("seed"), n_best: number("texts") },
      }
    : {
        beams: number("beams") ?? (by === "translation" ? undefined : 4),
        length_penalty: number("beams") === 1 ? undefined : number("alpha"),
      };
  return { model, text, begins, ...ways, ...more };
}

/** What the address asks for of a sentence of the run. */
export function wishOf(source: HttpSource, sentence: number): TreeWish {
  return wishFor(source, source.run.asked.texts[sentence] ?? "", state.value.options);
}

/** What a live model writes after a text, as these options ask for it. */
export function searchFor(source: HttpSource, text: string, options: readonly string[]): Promise<Search> {
  return searched(source, wishFor(source, text, options));
}

export function searched(source: HttpSource, wish: TreeWish): Promise<Search> {
  const key = JSON.stringify(wish);
  let held = asked.get(key);
  if (held === undefined) {
    held = source.search(wish).then((record) => new Search(record as SearchRecord));
    asked.set(key, held);
    for (const oldest of asked.keys()) if (asked.size > MOST) asked.delete(oldest);
    held.catch(() => asked.delete(key));
  }
  return held;
}

/** What went wrong, in a sentence, and what stays. */
export function problem(error: unknown): string {
  const told = problemOf(error);
  if (!(error instanceof TypeError)) return told;
  return say`The server does not answer (${told}): if it has ended, start glassformer explore again. What is written stays.`;
}
