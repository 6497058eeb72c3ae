/** What a head does, by rules that the page states, with the number of each: those of `look/summaries/head_jobs.py`. */

import type { Measure, Measured } from "../../measures/heads.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";

/** Where most of a head's attention goes; or, where no such place is, over how many tokens it is spread. */
export const JOBS = ["previous", "next", "self", "first", "separator", "same_word", "few", "many"] as const;
export type Job = (typeof JOBS)[number];

/** The places that a head is called by if most of its attention goes there, each with its name in a table. */
export const PLACES = [
  ["previous", say`one back`],
  ["self", say`itself`],
  ["next", say`one ahead`],
  ["first", say`first token`],
  ["separator", say`end mark`],
  ["same_word", say`same word`],
] as const satisfies readonly (readonly [Measure & Job, string])[];

/** A head is called by a place that gets at least this share of its attention, and this many times an even share. */
export const [LEAST, TIMES] = [0.25, 2];
/** "A few" are at most this share of the tokens that it could look at, or so many. */
export const [FEW, AT_LEAST] = [0.125, 2];
/** Two tokens with half of the attention each are two at once, whatever their entropy was rounded to. */
const ROUNDED = 1 + 1e-6;

export interface Found {
  readonly job: Job;
  /** The share of the attention; of `few` and `many` the number of tokens. */
  readonly value: number;
}

export function jobOf(measured: Measured): Found {
  let best: Found | null = null;
  const least = Math.max(LEAST, Math.min(TIMES * measured.even, (1 + measured.even) / 2));
  for (const job of JOBS) {
    if (job === "few" || job === "many") break;
    const value = measured[job];
    if (value >= least && (best === null || value > best.value)) {
      best = { job, value };
    }
  }
  if (best !== null) return best;
  const value = atOnce(measured);
  return { job: value <= ROUNDED * Math.max(FEW / measured.even, AT_LEAST) ? "few" : "many", value };
}

/** Over how many tokens the attention is spread: as many as would give this entropy if they got the same. */
export function atOnce(measured: Measured): number {
  return Math.exp(measured.entropy);
}

/** One word for a label under a picture. */
export const SHORT: Readonly<Record<Job, string>> = {
  previous: say`back`,
  next: say`ahead`,
  self: say`itself`,
  first: say`first`,
  separator: say`end`,
  same_word: say`same`,
  few: say`tokens:`,
  many: say`tokens:`,
};

/** `back .81`, `few 9` */
export function labelOf({ job, value }: Found): string {
  if (job === "few" || job === "many") return `${SHORT[job]} ${value < 10 ? value.toFixed(1) : value.toFixed(0)}`;
  return `${SHORT[job]} ${value.toFixed(2).replace(/^0/, "")}`;
}

/** After "looks mostly"; `first` and `closing` are the tokens that stand there. */
export function whereOf(job: Job, words: { readonly first: string; readonly closing: string }): string {
  switch (job) {
    case "previous":
      return say`one token back`;
    case "next":
      return say`one token ahead`;
    case "self":
      return say`at the token itself`;
    case "first":
      return words.first === "" ? say`at the first token` : say`at the first token, ${words.first}`;
    case "separator":
      return words.closing === "" ? say`at the end mark` : say`at the end mark ${words.closing}`;
    case "same_word":
      return say`at the same word elsewhere`;
    case "few":
      return say`at a few tokens`;
    case "many":
      return say`broadly`;
  }
}

/** One head in one sentence. */
export function sentenceOf(measured: Measured, words: { readonly first: string; readonly closing: string }): string {
  const { job, value } = jobOf(measured);
  if (job === "few" || job === "many") {
    return say`Spreads over ${short(value, 1)} tokens on average.`;
  }
  return say`Looks mostly ${whereOf(job, words)}: ${percent(value)} of its attention.`;
}

/** The rule that the labels follow, in full. */
export const RULE = say`“Mostly” means: at least ${percent(LEAST)} of the attention, averaged over the tokens, and at least ${TIMES} times an even share of one token. Other heads look at “a few” tokens where they spread over at most ${AT_LEAST}, or an eighth of those allowed, else “broadly”.`;

export interface Counted {
  readonly job: Job;
  readonly heads: readonly string[];
}

/** `4 of 72 heads look mostly one token back: 0·3, 2·1, …` in parts, the largest group of those with a place first. */
export function headlineOf(
  groups: readonly Counted[],
  total: number,
  words: { readonly first: string; readonly closing: string },
): { readonly text: string; readonly job: Job | null }[] {
  const parts: { text: string; job: Job | null }[] = [];
  const placed = groups.filter(({ job }) => job !== "few" && job !== "many");
  const others = groups.filter(({ job }) => job === "few" || job === "many");
  const verb = (count: number): string => (count === 1 ? say`looks` : say`look`);
  placed.forEach(({ job, heads }, order) => {
    const where = whereOf(job, words);
    const listed = heads.length <= LISTED ? ` (${heads.join(", ")})` : "";
    if (order === 0) {
      const of =
        total === heads.length ? say`All ${counted(total, "head")}` : say`${heads.length} of ${counted(total, "head")}`;
      const one = heads.length === 1;
      const text = one ? say`${of} looks mostly ${where}${listed}` : say`${of} look mostly ${where}${listed}`;
      parts.push({ text, job });
    } else {
      parts.push({ text: order === placed.length - 1 && others.length === 0 ? say` and ` : ", ", job: null });
      parts.push({ text: `${heads.length} ${where}${listed}`, job });
    }
  });
  if (placed.length === 0)
    parts.push({ text: say`None of ${counted(total, "head")} looks at the same place from every token: `, job: null });
  else if (others.length > 0) parts.push({ text: "; ", job: null });
  others.forEach(({ job, heads }, order) => {
    if (order > 0) parts.push({ text: say` and `, job: null });
    const first = order === 0 ? ` ${verb(heads.length)}` : "";
    parts.push({ text: `${heads.length}${first} ${whereOf(job, words)}`, job });
  });
  parts.push({ text: ".", job: null });
  return parts;
}

const LISTED = 4;
