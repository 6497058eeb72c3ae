/** What is said about the heads that are drawn, and where each leads. */

import type { Level } from "../../address/state.ts";
import type { Names } from "../../formulas/names.ts";
import { MEASURES, type Measure } from "../../measures/heads.ts";
import { say } from "../../words/say.ts";
import { type Arrange, headsIn, jobIn, nameOf, type Row } from "./heads_scene.ts";
import { type Counted, JOBS, type Job } from "./jobs.ts";

/** The tokens that stand first, and that close a text; empty where several texts are looked at. */
export interface Marks {
  readonly first: string;
  readonly closing: string;
}

export function marksOf(names: Names, sentence: number): Marks {
  const { words } = names.run;
  if (words.decoder_inputs.length > 0) return { first: "", closing: "" };
  const closing = words.closing?.inputs;
  const first = (words.inputs[sentence]?.length ?? 0) > 0 ? names.word("inputs", sentence, 0).text : "";
  return { first, closing: closing === undefined ? "" : (words.vocabulary[closing] ?? "") };
}

/** The heads by what they do, named. */
export function groupsOf(rows: readonly Row[]): Counted[] {
  const found = new Map<Job, string[]>();
  for (const head of headsIn(rows)) {
    const { job } = jobIn(head);
    const known = found.get(job);
    if (known === undefined) found.set(job, [nameOf(head)]);
    else known.push(nameOf(head));
  }
  return JOBS.flatMap((job) => {
    const heads = found.get(job);
    return heads === undefined ? [] : [{ job, heads }];
  });
}

/** The orders other than that of blocks and that of what heads do. */
export const ORDERS: Readonly<Partial<Record<Measure, string>>> = {
  previous: say`share one token back`,
  next: say`share one token ahead`,
  self: say`share at the token itself`,
  first: say`share at the first token`,
  separator: say`share at the end mark`,
  same_word: say`share at the same word`,
  largest: say`largest share`,
  entropy: say`tokens at once`,
  distance: say`distance`,
};

export function arrangeIn(text: string): Arrange {
  if (text === "job" || text === "importance") return text;
  return MEASURES.find((measure) => measure === text && measure in ORDERS) ?? "";
}

export function onlyIn(text: string): Job | null {
  return JOBS.find((job) => job === text) ?? null;
}

/** A head opens as its own level. */
export function opensAs(): { level: Level; layout: string[] } {
  return { level: "head", layout: [] };
}
