/** What the sections of *Sum it up for me* tell, as `glassformer/page/sections/summed.py` writes them. */

import type { Side } from "./record.ts";

export interface Importance {
  readonly measure: string;
  readonly unit: string;
  readonly baseline: number;
  readonly rows: number;
  readonly scored: number;
  readonly text: string;
  readonly heads: readonly ImportanceRow[];
}

/** The loss without a head less the loss with it, and its 95 % interval where several texts were measured. */
export interface ImportanceRow {
  readonly attention: string;
  readonly head: number;
  readonly difference: number;
  readonly low: number | null;
  readonly high: number | null;
}

interface Guess {
  readonly id: number;
  readonly text: string;
  readonly probability: number;
}

/** What the head would answer from a state on the way; rank and probability are those of the final answer. */
export interface LensLayer {
  readonly state: string;
  readonly block: number | null;
  readonly top: readonly Guess[];
  readonly rank: number;
  readonly probability: number;
  readonly entropy: number;
}

export interface LensPlace {
  readonly at: { readonly side: Side; readonly sentence: number; readonly token: number; readonly text: string };
  readonly answer: Guess;
  readonly layers: readonly LensLayer[];
}

export interface Lens {
  readonly places: readonly LensPlace[];
  readonly left_out: string;
}

/** What a goal owes to each token of one side; `tensor` is where the gradient was taken. */
export interface Attributed {
  readonly side: Side;
  readonly tensor: string;
  readonly gradient: readonly number[];
  readonly product: readonly number[];
}

/** What one tensor of the stream added to a goal directly; the shares of its tokens, and of an attention’s heads. */
export interface Added {
  readonly tensor: string;
  readonly value: number;
  readonly side: Side;
  readonly words: readonly number[];
  readonly heads: readonly number[];
  readonly bias: number;
}

/** The integrated gradients of a goal: `shares` sum to `value - baseline`, but for `missing`. */
export interface Integrated {
  readonly value: number;
  readonly baseline: number;
  readonly missing: number;
  readonly shares: Readonly<Partial<Record<Side, readonly number[]>>>;
}

export interface Goal {
  readonly name: string;
  readonly cell: readonly number[];
  readonly text: string;
  readonly value: number;
  readonly sentence: number;
  readonly of: readonly Attributed[];
  /** What the parts of the stream added; with `constant` they sum to the value. */
  readonly added: readonly Added[];
  readonly constant: number;
}

export interface Attributions {
  readonly goals: readonly Goal[];
  readonly note: string;
  readonly left_out: string;
}
