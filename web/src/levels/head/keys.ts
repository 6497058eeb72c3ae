/** The keys of this level: [ and ] for the head before and after, { and } for the block, digits for further heads. */

import { useLayoutEffect } from "preact/hooks";
import { go, type state } from "../../address/state.ts";
import { type Attention, blockOf, type Chosen } from "../../formulas/attention.ts";
import { plain } from "../../views/plain.ts";

/** The state with another head in hand, in the colour of the one before. */
export function withHead(
  weights: string,
  head: number,
  cell: readonly number[],
  heads: readonly Chosen[],
  own: string,
): Partial<ReturnType<typeof state.peek>> {
  const next = `${blockOf(weights)}.${head}`;
  const ids = heads.map(({ id }) => (id === own ? next : id));
  const shown = heads.some(({ id }) => id === next) ? heads.map(({ id }) => id) : ids;
  return {
    tensor: weights,
    cell: cell.map((index, axis) => (axis === 1 ? head : index)),
    heads: shown.length > 1 ? shown : [],
  };
}

/** The state with a head in addition to the others, or without it; the one in hand stays. */
export function toggled(id: string, heads: readonly Chosen[], own: string): { heads: string[] } {
  const ids = heads.map((each) => each.id);
  if (id === own) return { heads: ids };
  return { heads: ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id].slice(-8) };
}

export function useHeadKeys(
  { weights }: Attention,
  cell: readonly number[],
  heads: readonly Chosen[],
  peers: readonly string[],
  count: number,
): void {
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      const [block, head] = [peers.indexOf(weights), cell[1] ?? 0];
      const own = `${blockOf(weights)}.${head}`;
      const by = { "]": 1, "[": -1, "}": 1, "{": -1 }[event.key];
      if (by !== undefined) {
        const turned = "[]".includes(event.key);
        const name = turned ? weights : peers[(block + by + peers.length) % peers.length];
        const at = turned ? (head + by + count) % count : head;
        if (name !== undefined) go(withHead(name, at, cell, heads, own), true);
      } else if (/^\d$/.test(event.key) && Number(event.key) < count) {
        go(toggled(`${blockOf(weights)}.${event.key}`, heads, own), true);
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
