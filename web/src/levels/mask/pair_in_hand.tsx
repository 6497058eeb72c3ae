/** Above both squares: the pair in hand in numbers, and what their colours are measured by. */

import type { VNode } from "preact";
import { evenly, short } from "../../numbers/written.ts";
import type { Activity } from "./activity.ts";
import type { Words } from "./mask_scene.ts";

export interface Part {
  readonly found: Activity;
  readonly words: Words;
  readonly row: number;
}

export function InHand({ found, words, row, column, laid }: Part & { column: number; laid: number }): VNode {
  const { allowed, pairs, weights } = found;
  const open = allowed[row]?.[column] === true;
  const count = allowed[row]?.filter(Boolean).length ?? 0;
  const share = weights[row]?.[column] ?? 0;
  const largest = Math.max(...pairs.flat().map(Math.abs));
  return (
    <>
      <p class="pair-in-hand" aria-live="polite">
        <b class={words.hidden.has(row) ? "hidden" : ""}>{words.text[row]}</b> →{" "}
        <b class={words.hidden.has(column) ? "hidden" : ""}>{words.text[column]}</b>: product{" "}
        <b data-product={pairs[row]?.[column]}>{short(pairs[row]?.[column] ?? 0)}</b>
        {!open && ", forbidden: −∞ in its place"}; share{" "}
        <b data-of-row={share}>{row < laid ? short(share) : "not laid in"}</b>
        {open && row < laid && count > 1 && <span class="quiet">; an even share is {evenly(count)}</span>}
      </p>
      <p class="label">
        Each square has a scale of its own: the deepest colour is a product of {short(largest)}, and a share of 1. Red
        with a stroke: forbidden, its share is 0.
      </p>
    </>
  );
}
