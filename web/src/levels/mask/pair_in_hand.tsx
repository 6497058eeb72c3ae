/** Around both squares: the pair in hand in numbers, what their colours are measured by, and its row, step by step. */

import type { VNode } from "preact";
import { evenly, short } from "../../numbers/written.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { Worked } from "../tensor/pictures/worked.tsx";
import type { Activity, Asked } from "./activity.ts";
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
        {say`${<b class={words.hidden.has(row) ? "hidden" : ""}>{words.text[row]}</b>} → ${<b class={words.hidden.has(column) ? "hidden" : ""}>{words.text[column]}</b>}: product ${<b data-product={pairs[row]?.[column]}>{short(pairs[row]?.[column] ?? 0)}</b>}${!open && say`, forbidden: −∞ in its place`}; share ${<b data-of-row={share}>{row < laid ? short(share) : say`not laid in`}</b>}${open && row < laid && count > 1 && <span class="quiet">{say`; an even share is ${evenly(count)}`}</span>}`}
      </p>
      <p class="label">
        {say`Each square has a scale of its own: the deepest colour is a product of ${short(largest)}, and a share of 1. Red with a stroke: forbidden, its share is 0.`}
      </p>
    </>
  );
}

/** The row in hand, step by step. */
export function Row({ found, words, row, asked }: Part & { asked: Asked }): VNode {
  const { terms, quantities } = found.weight(row, 0);
  const sum = quantities["sum"];
  return (
    <section class="block">
      <h2>
        {say`The row of ${words.text[row]}`}{" "}
        {found.alone.includes(row) && (
          <span class="quiet">
            {say`may look at no word: ${asked.nothing === "itself" ? say`it looks at itself` : say`it is a row of zeros`} (C-29)`}
          </span>
        )}
      </h2>
      <Scroll label={say`the row of ${words.text[row]}`}>
        <table>
          <thead>
            <tr>
              <th>{say`word`}</th>
              <th>{say`product`}</th>
              <th>{say`masked`}</th>
              <th>{say`exp(masked − largest)`}</th>
              <th>{say`share`}</th>
            </tr>
          </thead>
          <tbody>
            {words.text.map((text, key) => (
              <tr>
                <th scope="row" class={words.hidden.has(key) ? "hidden" : ""}>
                  {text}
                </th>
                <td>{short(found.pairs[row]?.[key] ?? 0)}</td>
                <td>{short(found.masked[row]?.[key] ?? 0)}</td>
                <td>{short(terms[key]?.value ?? 0)}</td>
                <td data-share={`${row},${key}`} data-value={String(found.weights[row]?.[key])}>
                  {short(found.weights[row]?.[key] ?? 0)}
                </td>
              </tr>
            ))}
            <tr>
              <th scope="row">{say`together`}</th>
              <td />
              <td />
              <td>{sum === undefined ? "0" : short(sum)}</td>
              <td>{short((found.weights[row] ?? []).reduce((all, one) => all + one, 0))}</td>
            </tr>
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** The product of the pair in hand, whose operands lead to the run. */
export function Pair({ found, words, row, column }: Part & { column: number }): VNode {
  const { terms, result } = found.pair(row, column);
  return (
    <Worked
      title={`${words.text[row]} · ${words.text[column]}:`}
      value={result}
      terms={terms}
      how={say`the sum of the products`}
    />
  );
}
