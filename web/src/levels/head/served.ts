/** The numbers of a head of a run that is not sent whole: the rows that are looked at. An exported page lacks it. */

import type { Tensor } from "../../numbers/safetensors.ts";
import type { Store } from "../../run/store.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { rowsOf, type TokenRows } from "./weights.ts";

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

/** A tensor along one row of a head, `cell` = [sentence, head, query], and so many rows on either side. */
export async function fetchRow(
  server: HttpSource,
  { names }: Store,
  name: string,
  weights: string,
  [sentence = 0, head = 0, query = 0]: readonly number[],
  beside: number,
  signal: AbortSignal,
): Promise<[string, Tensor]> {
  const shape = server.run.shapes[name] ?? [];
  const heads = server.run.shapes[weights]?.[1] ?? 1;
  const axes = names.axes(name);
  const starts = axes.map((axis, place): number | null => {
    if (shape[place] === 1) return 0;
    if (axis === "sentence") return sentence;
    if (axis === "head") return head;
    if (axis === "key_value_head") return Math.floor((head * (shape[place] ?? 1)) / heads);
    return axis === "query" || axis === "token" ? query : null;
  });
  const spans = starts.map((start, axis) => {
    if (start === null || beside === 0 || axes[axis] !== "query" || shape[axis] === 1) return start ?? ":";
    // At an edge they are as many as elsewhere: those that a window of so many rows shows there.
    const [size, rows] = [shape[axis] ?? 1, 2 * beside + 1];
    const first = Math.max(0, Math.min(start - beside, size - rows));
    starts[axis] = first;
    return `${first}:${Math.min(first + rows, size)}`;
  });
  const part = await server.part(name, spans.join(), signal);
  return [
    name,
    sparse(
      shape,
      starts.map((start) => start ?? 0),
      part,
    ),
  ];
}

/** A head of so many numbers is fetched whole: 512 words. */
const WHOLE = 512 * 512;
/** Rows that are fetched at once, and the dots of a picture along each side. */
const [BLOCK, DOTS] = [16, 1024];

export async function fetchHead(
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
  const picture = await server.picture(name, part, { rows: DOTS, columns: DOTS }, signal);
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
