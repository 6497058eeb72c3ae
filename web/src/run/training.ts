/** The training of a model, as `page/sections/training.py` writes it: the curve of the loss, and the watched sentences. */

import { type Heads, type Measure, measuredFrom } from "../measures/heads.ts";
import { range } from "../numbers/arithmetic.ts";

/** A word or a label and how likely it is; null where no probability belongs to it. */
export type Guess = readonly [text: string, probability: number | null];

/** What the model answered about a sentence after a step, and what its heads did: see `look/texts/watched.py`. */
export interface Answered {
  readonly says: string;
  readonly places: readonly (readonly Guess[])[];
  readonly dots: string;
  readonly measured: string;
}

export interface Record {
  readonly step: number;
  readonly epoch: number;
  /** Of this step alone, its running mean, and the rate; null before the first step. */
  readonly loss: number | null;
  readonly mean: number | null;
  readonly learning_rate: number | null;
  readonly sentences?: readonly Answered[];
  /** Why there are no answers. */
  readonly wrong?: string;
}

export interface Attention {
  readonly name: string;
  readonly heads: number;
  /** How many tokens look, and how many are looked at; and the rows and columns of the pictures. */
  readonly shape: readonly [number, number];
  readonly picture: readonly [number, number];
}

/** What is the same in all records of a sentence. */
export interface Sentence {
  readonly text: string;
  readonly words: { readonly inputs: readonly string[]; readonly decoder_inputs?: readonly string[] };
  readonly hidden: readonly number[];
  readonly places: readonly string[];
  readonly attentions: readonly Attention[];
}

/** Scores on the held-out part after a step. */
export type Evaluated = { readonly step: number } & Readonly<{ [score: string]: number | null }>;

export interface Told {
  readonly task: string;
  /** How many steps there will be, where that is known. */
  readonly steps: number | null;
  readonly baselines: readonly string[];
  /** The mean loss of so many lines of ten steps each, and the learning rate there. */
  readonly curve: {
    readonly lines: number;
    readonly points: readonly (readonly [step: number, loss: number, rate: number])[];
  };
  readonly evaluated: readonly Evaluated[];
  readonly running: boolean;
  readonly saved: boolean;
  readonly mark: string;
  /** Whether all records are sent, not only those since the mark. */
  readonly fresh: boolean;
  readonly watched: { readonly statistics: readonly string[]; readonly sentences: readonly Sentence[] } | null;
  readonly records: readonly Record[];
  readonly damaged: number;
}

/** What is known with what has come since: the records are those of before and the new ones, or all anew. */
export function joined(before: Told | null, now: Told): Told {
  if (before === null || now.fresh) return now;
  return { ...now, watched: before.watched, records: [...before.records, ...now.records], damaged: before.damaged };
}

/** The place of the record of a step, or of the last one before it. */
export function placeOf(records: readonly Record[], step: number): number {
  let place = 0;
  while (place + 1 < records.length && (records[place + 1]?.step ?? 0) <= step) place += 1;
  return place;
}

/** The scores of the last evaluation up to a step. */
export function evaluatedAt(told: Told, step: number): Evaluated | undefined {
  return told.evaluated.findLast((each) => each.step <= step);
}

/** The lines that a model has to go below: what is reached without looking at the text. */
export function baselinesOf(told: Told): { readonly name: string; readonly loss: number }[] {
  const last = told.evaluated.at(-1);
  return told.baselines.flatMap((name) => {
    const loss = last?.[`${name}_loss`];
    return typeof loss === "number" ? [{ name, loss }] : [];
  });
}

/** The heads of each attention of a sentence, in the order of its attentions. */
export function headsOf(sentence: Sentence, answered: Answered, statistics: readonly string[]): Heads[] {
  const [dots, numbers] = [bytesOf(answered.dots), bytesOf(answered.measured)];
  const measured = new DataView(numbers.buffer);
  let [dot, number] = [0, 0];
  return sentence.attentions.map(({ heads, picture: [rows, columns] }) => {
    const size = heads * rows * columns;
    // A byte is the square root of a share, as the page colours it.
    const shares = Float32Array.from(dots.subarray(dot, dot + size), (byte) => (byte / 255) ** 2);
    dot += size;
    const each = range(heads, (head) => {
      const start = number + head * statistics.length;
      return measuredFrom((measure: Measure) => {
        const place = statistics.indexOf(measure);
        return place < 0 ? Number.NaN : measured.getFloat32(4 * (start + place), true);
      });
    });
    number += heads * statistics.length;
    return { thumbnails: { shape: [heads, rows, columns], data: shares }, measured: each };
  });
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place++) bytes[place] = binary.charCodeAt(place);
  return bytes;
}
