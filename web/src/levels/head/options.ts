/** How a head is shown, as it stands in the address: `show=words,across`. */

import { state } from "../../address/state.ts";

export interface Options {
  /** Words instead of tokens. */
  readonly words: boolean;
  /** Without start, end and separator marks and padding. */
  readonly bare: boolean;
  /** Only the lines of the word in hand. */
  readonly only: boolean;
  /** Words side by side instead of under each other. */
  readonly across: boolean;
  /** Which of two sentences looks, and which is looked at; null for both. */
  readonly from: number | null;
  readonly to: number | null;
}

export function optionsIn(show: readonly string[]): Options {
  const has = (name: string): boolean => show.includes(name);
  const segment = (side: string): number | null => (has(`${side}-0`) ? 0 : has(`${side}-1`) ? 1 : null);
  return {
    words: has("words"),
    bare: has("bare"),
    only: has("only"),
    across: has("across"),
    from: segment("from"),
    to: segment("to"),
  };
}

/** The same with some of it switched. */
export function switched(off: readonly string[], on: readonly string[]): string[] {
  return [...state.value.show.filter((name) => !off.includes(name) && !on.includes(name)), ...on];
}
