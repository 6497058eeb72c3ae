/** The attention of a step: the weights of one block's heads, or their mean, fetched once for all that draw them. */

import { state } from "../../address/state.ts";
import { blockOf, isAttention } from "../../formulas/attention.ts";
import type { Names } from "../../formulas/names.ts";
import type { Side } from "../../record/record.ts";
import type { Source } from "../../sources/source.ts";
import { useFound } from "../../views/found.ts";
import { useStore } from "../../views/hooks.ts";
import { option } from "./written/options.ts";

export interface Chosen {
  readonly blocks: readonly string[];
  readonly block: string;
  /** The attentions of the block that the decoder's words look with: at themselves, and at the source. */
  readonly names: readonly string[];
  readonly heads: number;
  /** null: the mean of all. */
  readonly head: number | null;
  /** Whether the lines of each head are drawn, each in its colour. */
  readonly each: boolean;
}

/** Which attention the address asks for; without a wish the mean of the heads of the last block that the page has. */
export function chosenAttention(names: Names, source: Source, side: Side): Chosen {
  const all = names.run.formulas.filter((each) => isAttention(each) && each.tokens === side).map(({ name }) => name);
  const blocks = [...new Set(all.map(blockOf))];
  const here = all.filter((name) => source.shape(name) !== undefined).map(blockOf);
  const block = blocks.includes(option("block")) ? option("block") : (here.at(-1) ?? blocks.at(-1) ?? "0");
  const mine = all.filter((name) => blockOf(name) === block);
  const heads = Math.max(1, ...mine.map((name) => source.shape(name)?.[1] ?? 1));
  const head = /^\d+$/.test(option("head")) ? Math.min(Number(option("head")), heads - 1) : null;
  return { blocks, block, names: mine, heads, head, each: option("head") === "each" };
}

/** The share that a query gives to a key. */
export type Share = (query: number, key: number) => number;

export function shareOf(all: ArrayLike<number>, shape: readonly number[], head: number | null): Share {
  const [, heads = 1, queries = 1, keys = 1] = shape;
  return (query, key) => {
    const of = (one: number): number => all[(one * queries + query) * keys + key] ?? 0;
    if (head !== null) return of(head);
    let sum = 0;
    for (let one = 0; one < heads; one++) sum += of(one);
    return sum / heads;
  };
}

/** The shares by each head of an attention, or of null by their mean, in the sentence in front; null while they are fetched. */
export function useAttention(name: string | undefined): ((head: number | null) => Share) | null {
  const { source } = useStore();
  const { sentence } = state.value;
  const key = name === undefined ? null : `${name} ${sentence}`;
  const { value } = useFound(key, async () => ({
    of: source,
    key,
    all: name === undefined ? undefined : await source.numbersAt(name, [sentence]),
  }));
  // Until the numbers of another run of the same model are here, those of the one before stay: of what both have read.
  if (name === undefined || value === null || value.of.run.title !== source.run.title || value.key !== key) return null;
  const { all, of } = value;
  return all === undefined ? null : (head) => shareOf(all, of.shape(name) ?? [], head);
}

/** The same by the head that is chosen; null while they are fetched, and without a name. */
export function useShares(name: string | undefined, head: number | null): Share | null {
  return useAttention(name)?.(head) ?? null;
}

export function crosses(name: string): boolean {
  return name.includes("cross_attention");
}
