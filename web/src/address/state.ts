/** What the page shows, kept in its address: back, forward, reload and a copied link lead to the same place. */

import { effect, signal, untracked } from "@preact/signals";
import { hasLanguage, LANGUAGE, languageIn } from "../words/say.ts";

export type Level =
  | "model"
  | "heads"
  | "block"
  | "head"
  | "tensor"
  | "number"
  | "mask"
  | "scene"
  | "ties"
  | "rollout"
  | "lens"
  | "gradients"
  | "pictures"
  | "tree"
  | "training"
  | "learn"
  | "quiz";
export type Theme = "auto" | "light" | "dark" | "contrast";

/** Of two runs: the one of now, the one that was kept, or the first subtracted from the second. */
export type Shown = "" | "A" | "A-B";

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
  /** The heads whose lines are drawn, each as `block.head`; empty: the one in hand. */
  readonly heads: readonly string[];
  /** How a head is shown: see `levels/head/options.ts`. */
  readonly show: readonly string[];
  /** How all heads are ordered; empty: by block and head. */
  readonly arrange: string;
  /** What the heads do that are picked out; empty: all. */
  readonly only: string;
  /** How a tensor is drawn; empty: as numbers. */
  readonly picture: string;
  /** What is chosen within a picture or a workshop. */
  readonly options: readonly string[];
  /** The place in a picture of numbers that no tensor holds, such as the distance of two positions. */
  readonly at: readonly number[];
  /** Which of the tour's own pictures is shown; empty: none. */
  readonly scene: string;
  /** The tour and its step, counted from 1: `decoder.3`, of the slides' tour `3`; empty: no tour. */
  readonly tour: string;
  /** How the tour is presented: with `notes` next to the slide, or the `slide` alone; empty: it is not. */
  readonly present: string;
  readonly theme: Theme;
  /** The language that this address asks for; empty: the one that was chosen here, or English. */
  readonly language: string;
  /** The model, of those that a server offers; empty: the one it began with. */
  readonly model: string;
  /** The run that is kept for comparison, as `edit/session/kept.ts` writes it; empty: none. */
  readonly kept: string;
  readonly shown: Shown;
  /** The changes made by hand, as `edit/changes/changes.ts` writes them. */
  readonly changes: string;
}

const LEVELS: readonly string[] = [
  "model",
  "heads",
  "block",
  "head",
  "tensor",
  "number",
  "mask",
  "scene",
  "ties",
  "rollout",
  "lens",
  "gradients",
  "pictures",
  "tree",
  "training",
  "learn",
  "quiz",
] satisfies Level[];
const PRESENTED: readonly string[] = ["notes", "slide"];
const SHOWN: readonly Shown[] = ["", "A", "A-B"];
const THEMES: readonly string[] = ["auto", "light", "dark", "contrast"] satisfies Theme[];

export const START: State = {
  level: "block",
  unit: "",
  tensor: "",
  cell: [],
  sentence: 0,
  layout: [],
  heads: [],
  show: [],
  arrange: "",
  only: "",
  picture: "",
  options: [],
  at: [],
  scene: "",
  tour: "",
  present: "",
  theme: "auto",
  language: "",
  model: "",
  changes: "",
  kept: "",
  shown: "",
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
    layout: listIn(given.get("layout")),
    heads: listIn(given.get("heads")).filter((head) => /^\d+\.\d+$/.test(head)),
    show: listIn(given.get("show")),
    arrange: given.get("arrange") ?? "",
    only: given.get("only") ?? "",
    picture: given.get("picture") ?? "",
    options: listIn(given.get("options")),
    at: numbersIn(given.get("at")),
    scene: given.get("scene") ?? "",
    tour: tourIn(given.get("tour") ?? ""),
    present: PRESENTED.find((each) => each === given.get("present")) ?? "",
    theme: THEMES.includes(theme) ? (theme as Theme) : START.theme,
    language: languageIn(hash),
    model: given.get("model") ?? START.model,
    changes: given.get("changes") ?? START.changes,
    kept: given.get("kept") ?? "",
    shown: SHOWN.find((each) => each === given.get("shown")) ?? "",
  };
}

function numbersIn(text: string | null): number[] {
  return text !== null && /^\d+(,\d+)*$/.test(text) ? text.split(",").map(Number) : [];
}

function listIn(text: string | null): string[] {
  return text?.split(",").filter(Boolean) ?? [];
}

/** The slides' tour was the first, and has no name in an address. */
function tourIn(text: string): string {
  const plain = text.replace(/^slides\./, "");
  return /^([a-z]+\.)?[1-9]\d*$/.test(plain) ? plain : START.tour;
}

const KEYS = Object.keys(START) as (keyof State)[];

/** What an address holds as it is. */
const PLAIN = /^[\w.*,;-]*$/;

/** The address of a state, without what is as at the start; a page without a level chooses one by the run. */
export function format(state: State): string {
  const parts: string[] = [];
  for (const key of KEYS) {
    const value = state[key];
    if (key !== "level" && value === START[key]) continue;
    const text = Array.isArray(value) ? value.join(",") : String(value);
    if (key !== "level" && text === String(START[key])) continue;
    // A page has hundreds of links: most say nothing that has to be written otherwise.
    parts.push(PLAIN.test(text) ? `${key}=${text}` : encoded(key, text));
  }
  return `#${parts.join("&")}`;
}

function encoded(key: string, text: string): string {
  return new URLSearchParams([[key, text]]).toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
}

export const state = signal<State>(START);

/** Whether the picture in front has the number in hand: what was in hand elsewhere is none of a picture of a document. */
export const inPicture = signal(true);

/** The same, one task later: what is next to the picture follows it, so that the picture comes first. */
export const later = signal<State>(START);

/** What follows the picture while the picture waits for an answer; null: it waits for none. */
let held: (() => void)[] | null = null;

/** Does it one task later, or once the answer is there that the picture waits for. */
function afterwards(work: () => void): void {
  setTimeout(() => (held === null ? work() : held.push(work)));
}

/** So many milliseconds the picture is waited for at most. */
const HELD = 50;

/** Has what follows the picture wait until the function is called that it gives: drawn before, it would hold up the answer. */
export function holdBack(): () => void {
  const waiting: (() => void)[] = [];
  held = waiting;
  const release = (): void => {
    if (held === waiting) held = null;
    for (const work of waiting.splice(0)) setTimeout(work);
  };
  setTimeout(release, HELD);
  return release;
}

/** What is read of the address next to the picture, or of a session that follows it: one task later, as `later`. */
export function readLater<T>(read: (now: State) => T): T {
  const now = later.value;
  return untracked(() => read(now));
}

/** The address of the state with some of it changed. Whoever writes links follows the state, or `later`. */
export function link(change: Partial<State>): string {
  return format({ ...state.peek(), ...change });
}

/** Goes there; `replace` leaves no step to come back to, as for the cell in hand while arrow keys move it. */
export function go(change: Partial<State>, replace = false): void {
  const next = { ...state.peek(), ...change };
  const address = format(next);
  if (address === format(state.peek())) return;
  write(address, replace);
  state.value = next;
}

/** The address that the browser is to get; it takes some ms to note it, and the picture goes first. */
let unwritten: { readonly address: string; readonly replace: boolean } | null = null;

function write(address: string, replace: boolean): void {
  if (unwritten === null) afterwards(noted);
  else if (!replace) noted();
  unwritten = { address, replace: replace && (unwritten?.replace ?? true) };
}

function noted(): void {
  if (unwritten === null) return;
  const { address, replace } = unwritten;
  unwritten = null;
  // In a frame of a notebook an address alone would be read against that of the notebook.
  const whole = location.href.replace(/#.*/s, "") + address;
  if (replace) history.replaceState(null, "", whole);
  else history.pushState(null, "", whole);
}

/** What the address gives by its own: that of the window, or of a page that was saved where it was left. */
export function given(): string {
  return location.hash || (document.documentElement.dataset["place"] ?? "");
}

/** Goes to an address of this page. */
export function goTo(address: string): void {
  go(parse(address));
}

/** Follows the address from now on. */
export function follow(): void {
  const read = (): void => {
    unwritten = null;
    const next = parse(given());
    // Each word of the page is said once: in another language the page begins again.
    if (next.language !== "" && next.language !== LANGUAGE && hasLanguage(next.language)) location.reload();
    // Browsers tell of one step twice, and a page is drawn once.
    if (format(next) !== format(state.value)) state.value = next;
  };
  addEventListener("hashchange", read);
  addEventListener("popstate", read);
  addEventListener("click", stay);
  read();
  effect(() => {
    const next = state.value;
    afterwards(() => {
      later.value = next;
    });
  });
}

/** What is next to the picture is drawn at once with it, as when the page is drawn first. */
export function together(): void {
  later.value = state.peek();
}

/**
 * Follows a link within the page at once: a browser would begin a navigation for it, and a frame of a notebook would
 * read it as a link of the notebook. With a key held, as for another tab, it is the browser's.
 */
function stay(event: MouseEvent): void {
  const held = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  const address = event.target instanceof Element ? event.target.closest("a")?.getAttribute("href") : null;
  if (event.defaultPrevented || held || address?.startsWith("#") !== true) return;
  event.preventDefault();
  goTo(address);
}
