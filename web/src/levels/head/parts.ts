/** The numbers of a head: at hand where the run is here whole; of a larger live run the rows that are looked at. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Fetch } from "../../formulas/evaluator.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Store } from "../../run/store.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { isServed } from "../../sources/served.ts";
import { useOpened, useStore } from "../../views/hooks.ts";
import { rowsOf, type TokenRows } from "./weights.ts";

/** The server of a run that is not sent whole. */
export function serverOf({ source }: Store): HttpSource | null {
  return isServed(source) && !source.run.whole ? source : null;
}

export function shapeOf(store: Store, name: string): readonly number[] | undefined {
  return store.fetch(name)?.shape ?? serverOf(store)?.run.shapes[name];
}

/** A tensor of which one part is here: an index beyond it has no number. */
function sparse(shape: readonly number[], start: readonly number[], part: Tensor): Tensor {
  const data = new Proxy<ArrayLike<number>>([], {
    get: (_, place) => {
      let [rest, flat, stride] = [Number(place), 0, 1];
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        const [size, own] = [shape[axis] ?? 1, part.shape[axis] ?? 1];
        const index = (rest % size) - (start[axis] ?? 0);
        if (index < 0 || index >= own) return undefined;
        rest = Math.floor(rest / size);
        flat += index * stride;
        stride *= own;
      }
      return part.data[flat];
    },
  });
  return { shape, data };
}

/**
 * Reads the tensors along one row of a head, `cell` = [sentence, head, query], and so many rows beside it; null until they
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
    const ask = async (name: string): Promise<[string, Tensor]> => {
      const shape = server.run.shapes[name] ?? [];
      const heads = server.run.shapes[weights]?.[1] ?? 1;
      const starts = store.names.axes(name).map((axis, place): number | null => {
        if (shape[place] === 1) return 0;
        if (axis === "sentence") return sentence;
        if (axis === "head") return head;
        if (axis === "key_value_head") return Math.floor((head * (shape[place] ?? 1)) / heads);
        return axis === "query" || axis === "token" ? query : null;
      });
      const axes = store.names.axes(name);
      const spans = starts.map((start, axis) => {
        if (start === null || beside === 0 || axes[axis] !== "query" || shape[axis] === 1) return start ?? ":";
        // At an edge they are as many as elsewhere: those that a window of so many rows shows there.
        const [size, rows] = [shape[axis] ?? 1, 2 * beside + 1];
        const first = Math.max(0, Math.min(start - beside, size - rows));
        starts[axis] = first;
        return `${first}:${Math.min(first + rows, size)}`;
      });
      const part = await server.part(name, spans.join(), giveUp.signal);
      return [
        name,
        sparse(
          shape,
          starts.map((start) => start ?? 0),
          part,
        ),
      ];
    };
    Promise.all(names.map(ask)).then((tensors) => setFound({ key, tensors: new Map(tensors) }), unlessGivenUp);
    return () => giveUp.abort();
  }, [server, key]);
  return useMemo(() => {
    if (server === null) return opened ? store.fetch : null;
    return found?.key === key ? (name) => found.tensors.get(name) ?? store.fetch(name) : null;
  }, [server, store, opened, found, key]);
}

function unlessGivenUp(error: unknown): void {
  if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
}

/** A head of so many numbers is fetched whole: 512 words. */
const WHOLE = 512 * 512;
/** Rows that are fetched at once, and the dots of a picture along each side. */
const [BLOCK, DOTS] = [16, 1024];

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

async function fetchHead(
  server: HttpSource,
  name: string,
  sentence: number,
  head: number,
  arrived: () => void,
  signal: AbortSignal,
): Promise<TokenRows> {
  const [, , queries = 1, keys = 1] = server.run.shapes[name] ?? [];
  const part = `${sentence},${head}`;
  if (queries * keys <= WHOLE) return rowsOf(await server.part(name, part, signal), 0, 0);
  const picture = await server.picture(name, part, { rows: DOTS, columns: DOTS, scale: "log" }, signal);
  const blocks = new Map<number, ArrayLike<number> | null>();
  return {
    queries,
    keys,
    picture,
    row: (query) => {
      const block = Math.floor(query / BLOCK);
      const data = blocks.get(block);
      if (data === undefined) {
        blocks.set(block, null);
        const rows = `${block * BLOCK}:${Math.min((block + 1) * BLOCK, queries)}`;
        server.part(name, `${part},${rows}`).then(
          (found) => {
            blocks.set(block, found.data);
            arrived();
          },
          () => blocks.delete(block),
        );
      }
      return data == null ? null : { data, from: (query % BLOCK) * keys };
    },
  };
}
