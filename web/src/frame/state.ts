/** What the page shows, kept in its address: back, forward, reload and a copied link lead to the same place. */

import { signal } from "@preact/signals";

export type Level = "model" | "heads" | "block" | "tensor" | "number";
export type Theme = "auto" | "light" | "dark" | "contrast";

export interface State {
  readonly level: Level;
  /** The part of the model that is drawn; empty: the first. */
  readonly unit: string;
  /** The tensor in hand; empty: none yet. */
  readonly tensor: string;
  /** The cell in hand, an index along each axis of the tensor. */
  readonly cell: readonly number[];
  /** The sentence that stands in front. */
  readonly sentence: number;
  /** The axes that a tensor is laid out by: rows, then columns; empty: the last two. */
  readonly layout: readonly string[];
  /** How all heads are ordered; empty: by block and head. */
  readonly arrange: string;
  /** What the heads do that are picked out; empty: all. */
  readonly only: string;
  readonly theme: Theme;
  /** The model, of those that a server offers; empty: the one it began with. */
  readonly model: string;
  /** The changes made by hand, as `edit/changes.ts` writes them. */
  readonly changes: string;
}

const LEVELS: readonly string[] = ["model", "heads", "block", "tensor", "number"] satisfies Level[];
const THEMES: readonly string[] = ["auto", "light", "dark", "contrast"] satisfies Theme[];

export const START: State = {
  level: "block",
  unit: "",
  tensor: "",
  cell: [],
  sentence: 0,
  layout: [],
  arrange: "",
  only: "",
  theme: "auto",
  model: "",
  changes: "",
};

/** Reads an address; what it does not say, or says wrongly, is as at the start. */
export function parse(hash: string): State {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const level = given.get("level") ?? "";
  const theme = given.get("theme") ?? "";
  return {
    level: LEVELS.includes(level) ? (level as Level) : START.level,
    unit: given.get("unit") ?? "",
    tensor: given.get("tensor") ?? "",
    cell: numbersIn(given.get("cell")),
    sentence: numbersIn(given.get("sentence"))[0] ?? 0,
    layout: given.get("layout")?.split(",").filter(Boolean) ?? [],
    arrange: given.get("arrange") ?? "",
    only: given.get("only") ?? "",
    theme: THEMES.includes(theme) ? (theme as Theme) : START.theme,
    model: given.get("model") ?? START.model,
    changes: given.get("changes") ?? START.changes,
  };
}

function numbersIn(text: string | null): number[] {
  return text !== null && /^\d+(,\d+)*$/.test(text) ? text.split(",").map(Number) : [];
}

/** The address of a state, without what is as at the start. */
export function format(state: State): string {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(state) as [keyof State, State[keyof State]][]) {
    const text = Array.isArray(value) ? value.join(",") : String(value);
    if (text !== String(START[key])) given.set(key, text);
  }
  return `#${given.toString().replaceAll("%2C", ",").replaceAll("%3B", ";")}`;
}

export const state = signal<State>(START);

/** The address of the state with some of it changed. */
export function link(change: Partial<State>): string {
  return format({ ...state.value, ...change });
}

/** Goes there; `replace` leaves no step to come back to, as for the cell in hand while arrow keys move it. */
export function go(change: Partial<State>, replace = false): void {
  const next = { ...state.value, ...change };
  const address = format(next);
  if (address === format(state.value)) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  state.value = next;
}

/** Follows the address from now on. */
export function follow(): void {
  const read = (): void => {
    state.value = parse(location.hash);
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  read();
}
