/** The search that the page shows, where it comes from, and how a node of it is opened as a run. */

import { useEffect, useState } from "preact/hooks";
import { go, type State, state } from "../../address/state.ts";
import type { Session } from "../../edit/session/session.ts";
import type { Names } from "../../formulas/names.ts";
import type { Side } from "../../record/record.ts";
import type { Store } from "../../run/store.ts";
import { isServed } from "../../sources/served.ts";
import type { Source } from "../../sources/source.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { chose, stepOf } from "./written/line.ts";
import { type Node, Search, type SearchRecord } from "./written/search.ts";

// An exported page lacks it: it asks no server.
const { problem, searched, wishOf } = await import("./asked/asked.ts");

export interface Held {
  readonly search: Search | null;
  /** Why there is none, in a sentence; empty while it is waited for. */
  readonly why: string;
  /** The options of the address that asked for it. */
  readonly options: readonly string[];
}

/** The search for the sentence in front. Until another one is there, the one before stays. */
export function useSearch(): Held {
  const { source, names } = useStore();
  const { sentence } = state.value;
  const key = JSON.stringify([names.run.title, isServed(source) && wishOf(source, sentence), sentence]);
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

async function searchOf(source: Source, names: Names, sentence: number): Promise<Omit<Held, "options">> {
  const served = isServed(source);
  try {
    if (served) return { search: await searched(source, wishOf(source, sentence)), why: "" };
    const record = ((await source.section("search")) as readonly (SearchRecord | null)[] | undefined)?.[sentence];
    return record == null ? { search: null, why: absent(names) } : { search: new Search(record), why: "" };
  } catch (error) {
    return { search: null, why: served ? problem(error) : String(error) };
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

/** Whether it has read the node too, or, of an end, all before it. */
export function reads(search: Search, node: Node, read: readonly number[]): boolean {
  const all = search.readWith(node);
  return all.length <= read.length && all.every((id, place) => read[place] === id);
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
