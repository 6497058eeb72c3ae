/** What the address asks for: a model and its changes. */

import { go, type State, state } from "../../address/state.ts";

export interface Asked {
  /** Empty for the model that the page began with. */
  readonly model: string;
  readonly changes: string;
}

/** The model that the page began with, unchanged. */
export const NOTHING: Asked = { model: "", changes: "" };

export function askedBy({ model, changes }: State): Asked {
  return { model, changes };
}

export function equal(one: Asked, two: Asked): boolean {
  return one.model === two.model && one.changes === two.changes;
}

export function moveTo(asked: Asked): void {
  // Another model has other tensors: nothing of what was in hand is in it.
  const other: Partial<State> = { level: "block", unit: "", tensor: "", cell: [], sentence: 0, layout: [] };
  go(asked.model === state.value.model ? asked : { ...other, ...asked });
}
