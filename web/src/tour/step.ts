/** What one step of the tour is. Its texts are data of the package: `glassformer/page/tours`. */

import type { State } from "../address/state.ts";
import type { Puts, Said } from "../scout/said.ts";
import type { Scout } from "../scout/scout.ts";

/** What a step finds in a run. */
export interface Found {
  /** Which of the step's texts fit this model; none: the usual ones. */
  readonly variant?: string | false | undefined;
  readonly puts: Puts;
  /** Where the live page shows it. */
  readonly at: Partial<State>;
  /** Whether the reader has answered the question by putting something in hand. */
  touched?(now: State): boolean;
  /** Where the step's one click leads. */
  readonly act?: Partial<State>;
}

export interface Step {
  readonly key: string;
  /** Of a step of another tour: where the document that is followed has it; empty: nowhere. */
  readonly source?: string;
  /** Whether this run has no such step. */
  lacks?(s: Scout): boolean;
  /** Tensors that are opened before it is shown, where there are many; others are opened as it needs them. */
  reads?(s: Scout): string[];
  find(s: Scout): Found;
}

/** One step in the numbers of a run. */
export interface Told extends Pick<Found, "at" | "touched" | "act"> {
  readonly text: readonly Said[];
  readonly question: readonly Said[];
  readonly answer: readonly Said[];
  readonly note: readonly Said[];
  readonly correction: string;
  /** A tensor that has to be opened before the step can be shown. */
  readonly missing?: string;
}

/** Whether a cell is in hand. */
export function held(name: string, cell: readonly number[]): (now: State) => boolean {
  return (now) => now.tensor === name && now.cell.join() === cell.join();
}
