/** The numbers of a head: at hand where the run is here whole; of a larger live run the rows that are looked at. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Fetch } from "../../formulas/evaluator.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Store } from "../../run/store.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { isServed } from "../../sources/served.ts";
import { unlessGivenUp, useOpened, useStore } from "../../views/hooks.ts";
import { rowsOf, type TokenRows } from "./weights.ts";

// An exported page lacks it: it has its run whole.
const { fetchHead, fetchRow } = await import("./served.ts");

/** The server of a run that is not sent whole. */
export function serverOf({ source }: Store): HttpSource | null {
  return isServed(source) && !source.run.whole ? source : null;
}

export function shapeOf(store: Store, name: string): readonly number[] | undefined {
  return store.fetch(name)?.shape ?? serverOf(store)?.run.shapes[name];
}

/**
 * Reads the tensors along one row of a head, `cell` = [sentence, head, query], and so many rows on either side; null until they
 * are at hand.
 */
export function useRow(names: readonly string[], weights: string, cell: readonly number[], beside = 0): Fetch | null {
  const store = useStore();
  const server = serverOf(store);
  const opened = useOpened(server === null ? names : []);
  const [sentence = 0, head = 0, query = 0] = cell;
  const [found, setFound] = useState<{ key: string; tensors: Map<string, Tensor> } | null>(null);
  const key = `${names.join()} ${sentence} ${head} ${query}`;
  useEffect(() => {
    if (server === null) return;
    const giveUp = new AbortController();
    const asked = names.map((name) => fetchRow(server, store, name, weights, cell, beside, giveUp.signal));
    Promise.all(asked).then((tensors) => setFound({ key, tensors: new Map(tensors) }), unlessGivenUp);
    return () => giveUp.abort();
  }, [server, key]);
  return useMemo(() => {
    if (server === null) return opened ? store.fetch : null;
    return found?.key === key ? (name) => found.tensors.get(name) ?? store.fetch(name) : null;
  }, [server, store, opened, found, key]);
}

/** The numbers of several heads of a sentence; a head that is not at hand yet is left out. */
export function useHeadNumbers(
  heads: readonly { weights: string; head: number }[],
  sentence: number,
): (TokenRows | null)[] {
  const store = useStore();
  const server = serverOf(store);
  const opened = useOpened(server === null ? heads.map(({ weights }) => weights) : []);
  const [known] = useState(() => new Map<string, TokenRows>());
  const [arrived, setArrived] = useState(0);
  const ids = heads.map(({ weights, head }) => `${weights} ${sentence} ${head}`);
  useEffect(() => {
    if (server === null) return;
    const giveUp = new AbortController();
    const more = (): void => setArrived((count) => count + 1);
    heads.forEach(({ weights, head }, place) => {
      const id = ids[place] ?? "";
      if (known.has(id)) return;
      fetchHead(server, weights, sentence, head, more, giveUp.signal).then((numbers) => {
        known.set(id, numbers);
        more();
      }, unlessGivenUp);
    });
    return () => giveUp.abort();
  }, [server, ids.join()]);
  return useMemo(() => {
    return heads.map(({ weights, head }, place) => {
      if (server !== null) return known.get(ids[place] ?? "") ?? null;
      const tensor = opened ? store.fetch(weights) : undefined;
      return tensor === undefined || head >= (tensor.shape[1] ?? 0) ? null : rowsOf(tensor, sentence, head);
    });
  }, [server, store, opened, arrived, ids.join()]);
}
