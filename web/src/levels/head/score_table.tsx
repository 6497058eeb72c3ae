/** From score to weight: one row for each word that is looked at, one column for each stage that this model has. */

import type { VNode } from "preact";
import { toNumber } from "../../address/links.ts";
import type { Attention } from "../../formulas/attention.ts";
import { type Fetch, MissingTensor } from "../../formulas/evaluator.ts";
import { type Explanation, explainCell } from "../../formulas/interpreter.ts";
import type { Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { counted, short } from "../../numbers/written.ts";
import type { Rule } from "../../record/record.ts";
import { useStore } from "../../views/hooks.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { useRow } from "./parts.ts";

/** What a part of the level of a head is drawn of. */
export interface DetailProps {
  readonly attention: Attention;
  readonly cell: readonly number[];
  readonly width: number;
}

/** Of a longer text the words with the largest weights are listed. */
const LISTED = 20;

/** The number of a tensor at a cell; an axis that is shared by all has one step. */
export function numberAt(tensor: Tensor, cell: readonly number[]): number {
  return at(tensor, boundTo(tensor, cell));
}

export function boundTo(tensor: Tensor, cell: readonly number[]): number[] {
  return tensor.shape.map((size, axis) => Math.min(cell[axis] ?? 0, size - 1));
}

export interface Row {
  readonly key: number;
  readonly weight: number;
}

/** The keys with the largest weights, in the order of the text, and what is left. */
export function listed(weights: readonly number[], most = LISTED): { rows: Row[]; count: number; mass: number } {
  const all = weights.map((weight, key) => ({ key, weight }));
  if (all.length <= most + 4) return { rows: all, count: 0, mass: 0 };
  const order = [...all].sort((one, two) => two.weight - one.weight);
  const rows = order.slice(0, most).sort((one, two) => one.key - two.key);
  return { rows, count: all.length - most, mass: order.slice(most).reduce((sum, { weight }) => sum + weight, 0) };
}

/** The weights of one query. */
export function weightsOf(
  fetch: Fetch,
  weights: string,
  [sentence = 0, head = 0, query = 0]: readonly number[],
): number[] {
  const tensor = fetch(weights);
  if (tensor === undefined) return [];
  return range(tensor.shape[3] ?? 0, (key) => at(tensor, [sentence, head, query, key]));
}

interface Column {
  readonly name: string;
  readonly title: string;
  readonly note: string;
}

export function ScoreTable({ attention, cell }: DetailProps): VNode | null {
  const store = useStore();
  const { names } = store;
  const { weights, stages, added, mayLook } = attention;
  const columns = stages.flatMap((stage): Column[] => {
    const bias = added.get(stage);
    const own = columnOf(stage, names);
    return bias === undefined ? [own] : [{ ...columnOf(bias, names), note: say`added` }, own];
  });
  const fetch = useRow([...columns.map(({ name }) => name), ...(mayLook === null ? [] : [mayLook])], weights, cell);
  const [sentence = 0, , query = 0] = cell;
  const shares = fetch === null ? [] : weightsOf(fetch, weights, cell);
  if (fetch === null || shares.length === 0) return null;
  const { rows, count, mass } = listed(shares);
  const found = sharing(fetch, store.names, weights, cell);
  const whole = columns.filter(({ name }) => fetch(name) !== undefined);
  const word = names.label(weights, "query", query, sentence);
  return (
    <section class="block">
      <h2>{say`From score to weight, for ${<b class={word.hidden ? "hidden" : "query"}>{word.text}</b>}`}</h2>
      <Scroll label={say`scores of ${word.text}, stage by stage`}>
        <table class="stages">
          <thead>
            <tr>
              <th scope="col">{say`looks at`}</th>
              {whole.map(({ name, title, note }) => (
                <>
                  {name === weights && found !== null && (
                    <th scope="col">
                      e<sup>{columns.at(-2)?.title ?? say`score`}</sup>
                      <small>{say`its sum is ${short(found.sum)}`}</small>
                    </th>
                  )}
                  <th scope="col">
                    <span class={names.role(name)}>{title}</span>
                    <small>{note}</small>
                  </th>
                </>
              ))}
              <td class="bar" />
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, weight }) => {
              const label = names.label(weights, "key", key, sentence);
              const here = [...cell.slice(0, 3), key];
              const looks = mayLook === null ? undefined : fetch(mayLook);
              const masked = looks !== undefined && numberAt(looks, here) === 0;
              return (
                <tr key={key} data-masked={masked} data-hand={key === cell[3]}>
                  <th scope="row" class={label.hidden ? "hidden" : ""}>
                    <span>{label.text}</span>
                  </th>
                  {whole.map(({ name }) => {
                    const tensor = fetch(name);
                    if (tensor === undefined) return <td />;
                    const value = numberAt(tensor, here);
                    return (
                      <>
                        {name === weights && found !== null && (
                          <td class="quiet">
                            <span>{short(found.powers[key] ?? 0)}</span>
                          </td>
                        )}
                        <td>
                          <a
                            href={toNumber(name, boundTo(tensor, here), names)}
                            data-number={name}
                            data-key={key}
                            data-value={String(value)}
                          >
                            {short(value)}
                          </a>
                        </td>
                      </>
                    );
                  })}
                  <td class="bar" aria-hidden="true">
                    <i style={{ width: `${weight * 100}%` }} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {count > 0 && (
        <p class="quiet">
          {say`${counted(count, "more word")} hold ${short(mass)} of the weight; the square above shows them all.`}
        </p>
      )}
    </section>
  );
}

function columnOf(name: string, names: Names): Column {
  const rule = names.formulas.get(name)?.rule;
  return { name, title: names.title(name), note: rule === undefined ? "" : noteOf(rule) };
}

/** What a stage does, in few signs. */
function noteOf(rule: Rule): string {
  switch (rule.rule) {
    case "dot_product":
      return say`query · key`;
    case "scale":
      return `× ${short(Number(rule["by"]))}`;
    case "add":
      return say`the sum of both`;
    case "fill_set":
    case "fill_add":
      return say`${rule.rule === "fill_add" ? "+ " : ""}${fillIn(rule)} where masked`;
    case "softmax":
      return say`its share of the sum`;
    default:
      return "";
  }
}

function fillIn(rule: Rule): string {
  const fill = rule["fill"];
  return fill === "lowest" ? say`the lowest number` : short(fill === "-inf" ? -Infinity : Number(fill));
}

/** What the softmax adds up: the exponential of each masked score; larger scores are all lowered by the largest. */
function sharing(
  fetch: Fetch,
  names: Names,
  weights: string,
  cell: readonly number[],
): { powers: number[]; sum: number } | null {
  const formula = names.formulas.get(weights);
  if (formula === undefined) return null;
  const [sentence = 0, head = 0, query = 0] = cell;
  let found: Explanation;
  try {
    found = explainCell(formula, { sentence, head, query, key: 0 }, fetch, names.run);
  } catch (error) {
    if (error instanceof MissingTensor) return null;
    throw error;
  }
  const { largest = 0, sum = 0 } = found.quantities;
  if (!(Math.abs(largest) < 12)) return null;
  const scale = Math.exp(largest);
  return { powers: found.terms.map((term) => term.value * scale), sum: sum * scale };
}
