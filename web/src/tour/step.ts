/** What one step of the tour is. */

import type { State } from "../frame/state.ts";
import type { Step as Change } from "../run/http_source.ts";
import type { Said } from "./said.ts";
import type { Scout } from "./scout.ts";

/** One idea, in the numbers of the run. */
export interface Told {
  /** At most 60 words. */
  readonly text: readonly Said[];
  readonly question: readonly Said[];
  readonly answer: readonly Said[];
  /** Where the live page shows it. */
  readonly at: Partial<State>;
  /** Whether the reader has answered the question by putting something in hand. */
  touched?(now: State): boolean;
  /** Something to do at one click. */
  readonly act?: { readonly text: string; readonly to: Partial<State> };
  /** The same as a list of changes, for a page that can compute a changed run. */
  readonly change?: readonly Change[];
  /** Where a source document is imprecise: the number of the correction, and what is right. */
  readonly note?: { readonly number: string; readonly text: readonly Said[] };
}

export interface Step {
  /** What the step is called in tests and links. */
  readonly key: string;
  readonly title: string;
  /** The part of the slides that it follows; null = not in that document. */
  readonly source: string | null;
  /** Why this run has no such step; empty = it has. */
  lacks?(s: Scout): string;
  /** Tensors that must be opened before it can be told. */
  reads?(s: Scout): string[];
  tell(s: Scout): Told;
}

/** Whether a cell is in hand. */
export function held(name: string, cell: readonly number[]): (now: State) => boolean {
  return (now) => now.tensor === name && now.cell.join() === cell.join();
}

/** The parts of the slides, as they are headed there. */
export const SLIDES = {
  input: "Input representation",
  position: "Positional encoding",
  mask: "Positional encoding, the mask tensor",
  goal: "Step 0: What do we want to achieve?",
  scores: "Step I: Generating attention weights",
  values: "Step II: Generating weighted word representations",
  forward: "Step III: Position-wise feed forward",
  predict: "Step IV: Predict masked words",
} as const;
