/** The search that the page shows, where it comes from, and how a node of it is opened as a run. */

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { go, type State, state } from "../../address/state.ts";
import type { Session } from "../../edit/session/session.ts";
import type { Names } from "../../formulas/names.ts";
import type { RunRecord, Side } from "../../record/record.ts";
import type { TreeWish } from "../../record/wishes.ts";
import type { Store } from "../../run/store.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { RefusedError } from "../../sources/refused.ts";
import { isServed } from "../../sources/served.ts";
import type { Source } from "../../sources/source.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { type Node, Search, type SearchRecord } from "./search.ts";

/** What is chosen at this level, as the address has it: `beams=8`, `temperature=0.6`, `begins=12.44`, `block=2`, `head=5`. */
export function option(name: string, options: readonly string[] = state.value.options): string {
  return options.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? "";
}

export function withOption(name: string, value: string, options: readonly string[] = state.value.options): string[] {
  const others = options.filter((each) => !each.startsWith(`${name}=`));
  return value === "" ? others : [...others, `${name}=${value}`];
}

/** The tokens with which the answer of the address begins: what stood before the word from which it was rewritten. */
export function begun(options: readonly string[] = state.value.options): number[] {
  const typed = option("begins", options);
  return /^\d+(\.\d+)*$/.test(typed) ? typed.split(".").map(Number) : [];
}

/** Whether what was written is played: a new text plays by itself, and so stands outside of the view that draws it. */
export const playing = signal(false);

export interface Held {
  readonly search: Search | null;
  /** Why there is none, in a sentence; empty while it is waited for. */
  readonly why: string;
  /** The options of the address that asked for it. */
  readonly options: readonly string[];
}

/** Searches that were asked for, by the wish; they never change. */
const asked = new Map<string, Promise<Search>>();
const MOST = 48;

/** The search for the sentence in front. Until another one is there, the one before stays. */
export function useSearch(): Held {
  const { source, names } = useStore();
  const { sentence } = state.value;
  const key = JSON.stringify([names.run.title, wishOf(source, sentence), sentence]);
  const [found, setFound] = useState<Held>({ search: null, why: "", options: [] });
  const side = writingSide(names);
  useEffect(() => {
    // An encoder writes nothing: its server has nothing to search for.
    if (side === null) return;
    let current = true;
    const { options } = state.value;
    void searchOf(source, names, sentence).then((found) => {
      if (current) setFound({ ...found, options });
    });
    return () => {
      current = false;
    };
  }, [source, key, side]);
  return found;
}

/** What the model of a run writes; null where it writes nothing. */
export type Written = "translation" | "text" | "reply";

export function writtenBy(run: RunRecord & { readonly writes?: unknown }): Written | null {
  if (!run.model.stacks.some(({ side }) => side === "decoder")) return null;
  if (run.writes === "chat") return "reply";
  return run.model.stacks.some(({ side }) => side === "encoder") ? "translation" : "text";
}

/** Whether the search of the address draws: a writer does unless something else is asked for, a translator does not. */
export function draws(written: Written | null, options: readonly string[] = state.value.options): boolean {
  const draw = option("draw", options);
  return draw === "" ? written !== "translation" : draw === "1";
}

/** At a temperature of 0 nothing is drawn: the likeliest token is taken each time. */
export function isCold(options: readonly string[] = state.value.options): boolean {
  return option("temperature", options) !== "" && Number(option("temperature", options)) === 0;
}

/** So many tokens are written where nobody says otherwise, but for translations: a story has no length of its own. */
export const TOKENS = 40;

function wishFor(source: HttpSource, text: string, options: readonly string[]): TreeWish {
  const number = (name: string): number | undefined => {
    const typed = option(name, options);
    return typed === "" || Number.isNaN(Number(typed)) ? undefined : Number(typed);
  };
  const { model } = source.run.asked;
  const by = writtenBy(source.run);
  const more = by === "translation" ? {} : { max_tokens: number("tokens") ?? TOKENS };
  const begins = begun(options);
  const drawn = draws(by, options);
  if (drawn && isCold(options)) return { model, text, beams: 1, begins, ...more };
  const ways = drawn
    ? {
        ...{ sample: true, temperature: number("temperature"), top_k: number("top-k"), top_p: number("top-p") },
        ...{ seed: number("seed"), n_best: number("texts") },
      }
    : {
        beams: number("beams") ?? (by === "translation" ? undefined : 4),
        length_penalty: number("beams") === 1 ? undefined : number("alpha"),
      };
  return { model, text, begins, ...ways, ...more };
}

function wishOf(source: Source, sentence: number): TreeWish | null {
  if (!isServed(source)) return null;
  return wishFor(source, source.run.asked.texts[sentence] ?? "", state.value.options);
}

/** What a live model writes after a text, as these options ask for it; each is asked for once. */
export function searchFor(source: HttpSource, text: string, options: readonly string[]): Promise<Search> {
  return searched(source, wishFor(source, text, options));
}

function searched(source: HttpSource, wish: TreeWish): Promise<Search> {
  const key = JSON.stringify(wish);
  let held = asked.get(key);
  if (held === undefined) {
    held = source.search(wish).then((record) => new Search(record as SearchRecord));
    asked.set(key, held);
    for (const oldest of asked.keys()) if (asked.size > MOST) asked.delete(oldest);
    held.catch(() => asked.delete(key));
  }
  return held;
}

/** What went wrong, in a sentence, and what stays. */
export function problem(error: unknown): string {
  if (error instanceof RefusedError) return error.sentence;
  const told = error instanceof Error ? error.message : String(error);
  if (!(error instanceof TypeError)) return told;
  return say`The server does not answer (${told}): if it has ended, start glassformer explore again. What is written stays.`;
}

async function searchOf(source: Source, names: Names, sentence: number): Promise<Omit<Held, "options">> {
  const wish = wishOf(source, sentence);
  try {
    if (wish !== null && isServed(source)) return { search: await searched(source, wish), why: "" };
    const record = ((await source.section("search")) as readonly (SearchRecord | null)[] | undefined)?.[sentence];
    return record == null ? { search: null, why: absent(names) } : { search: new Search(record), why: "" };
  } catch (error) {
    return { search: null, why: problem(error) };
  }
}

function absent(names: Names): string {
  const { editing } = names.run;
  if (editing?.seconds != null) return say`This page was written with a target: nothing was searched for.`;
  return say`This page carries no search. One of a model that translates, written without a target, has it.`;
}

/** The side whose words a decoder reads; null for a model without one. */
export function writingSide(names: Names): Side | null {
  const decodes = names.run.model.stacks.some(({ side }) => side === "decoder");
  return decodes ? (names.formulas.get("head.logits")?.tokens ?? null) : null;
}

/** The tokens that the decoder reads in this run; null while they are fetched. */
export function useRead(store: Store, sentence: number): readonly number[] | null {
  const side = writingSide(store.names);
  const [read, setRead] = useState<{ store: Store; ids: readonly number[] } | null>(null);
  useEffect(() => {
    let current = true;
    if (side !== null) {
      void store.source.numbersAt(`${side}.ids`, [sentence]).then((ids) => {
        // A run of tokens alone has no words.
        const real = store.names.run.words[side][sentence]?.length ?? ids?.length;
        if (current && ids !== undefined) setRead({ store, ids: Array.from(ids).slice(0, real) });
      });
    }
    return () => {
      current = false;
    };
  }, [store, side, sentence]);
  // Until another run of the same model is read, the one before says what both have in common.
  return read?.store.names.run.title === store.names.run.title ? read.ids : null;
}

/** Whether a run in which the decoder reads these tokens has chosen the node: it read all that stands before it. */
export function chose(search: Search, node: Node, read: readonly number[]): boolean {
  const before = search.readBefore(node);
  return before.length <= read.length && before.every((id, place) => read[place] === id);
}

/** Whether it has read the node too, or, of an end, all before it. */
export function reads(search: Search, node: Node, read: readonly number[]): boolean {
  const all = search.readWith(node);
  return all.length <= read.length && all.every((id, place) => read[place] === id);
}

/** The step in which a node was chosen, counted by the tokens that the decoder had read, less one. */
export function stepOf(search: Search, node: Node): number {
  return search.readBefore(node).length - 1;
}

/** The place among those at which the vocabulary was scored; −1 where it was not. */
export function placeOf(names: Names, sentence: number, step: number): number {
  return names.run.places.findIndex(([row, token]) => row === sentence && token === step);
}

/**
 * Opens a node word by word: in the run that is shown where it has read it, else in one that the server makes. A page
 * without a server has the number of a node that its run might have chosen.
 */
export function openNode(session: Session, search: Search, node: Node, read: readonly number[] | null): void {
  const there: Partial<State> = { level: "tree", picture: "words", at: [stepOf(search, node), node.number] };
  if (read !== null && reads(search, node, read)) go(there);
  else if (canOpen(session)) {
    session.add({ kind: "text", which: "target", row: state.value.sentence, text: search.readWith(node).join(" ") });
    go(there);
  } else if (read !== null && chose(search, node, read)) go(there);
  else go({ at: [node.number] }, true);
}

/** Whether the page has a model that can make the run of any node. */
export function canOpen(session: Session): boolean {
  return session.engine.offers.length > 0 && session.texts("text") !== null;
}
