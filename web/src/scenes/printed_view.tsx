/** The scores that the documents print, divided by √d_k and shared out: with a slider for d_k, next to their own weights. */

import type { VNode } from "preact";
import { go, link, state } from "../address/state.ts";
import { rulesOn } from "../formulas/at_hand.ts";
import type { Working } from "../formulas/evaluator.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import { short } from "../numbers/written.ts";
import type { PrintedScores } from "../record/record.ts";
import type { Scout } from "../scout/scout.ts";
import { heard, say } from "../words/say.ts";

const SQUARE = "query key";
/** The slider goes through powers of two, up to 2 to this. */
const MOST = 12;

interface Worked {
  readonly scaled: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  weight(query: number, key: number): Working;
}

/** From scores to weights, by the rules that every attention of a run has. */
export function sharedOut({ scores }: Pick<PrintedScores, "scores">, size: number): Worked {
  const tensors = new Map<string, Tensor>();
  const keep = (name: string, rows: readonly (readonly number[])[]): readonly (readonly number[])[] => {
    tensors.set(name, { shape: [rows.length, rows[0]?.length ?? 0], data: rows.flat() });
    return rows;
  };
  const rules = rulesOn(tensors, SQUARE);
  const every = (compute: ReturnType<typeof rules>): number[][] => {
    return scores.map((row, query) => row.map((_, key) => compute({ query, key }).result));
  };
  keep("scores", scores);
  const scale = rules({ rule: "scale", x: { name: "scores", axes: SQUARE }, by: 1 / Math.sqrt(size) });
  const scaled = keep("scaled", every(scale));
  const share = rules({ rule: "softmax", x: { name: "scaled", axes: SQUARE }, over: "key" });
  return { scaled, weights: every(share), weight: (query, key) => share({ query, key }) };
}

export function PrintedView({ s }: { readonly s: Scout }): VNode {
  const { options } = state.value;
  const asked = Number(options.find((each) => each.startsWith("size."))?.slice(5));
  const size = asked >= 1 ? Math.trunc(asked) : 64;
  const to = (value: number): void => go({ options: [`size.${value}`] }, true);
  return (
    <div class="printed">
      <p class="controls">
        <label>
          {say`d_k, the size of queries and keys`}
          <input
            type="range"
            min={0}
            max={MOST}
            step={1}
            value={Math.round(Math.log2(size))}
            aria-valuetext={`${size}`}
            onInput={({ currentTarget }) => to(2 ** Number(currentTarget.value))}
          />
        </label>
        <b aria-live="polite" data-size={size}>
          d_k = {size}, √d_k = {short(Math.sqrt(size))}
        </b>
      </p>
      {(s.names.run.documents?.scores ?? []).map((table, place) => (
        <Scores key={table.document} table={table} place={place} size={size} />
      ))}
    </div>
  );
}

function Scores({ table, place, size }: { table: PrintedScores; place: number; size: number }): VNode {
  const { document, keys, queries, scores, weights } = table;
  const made = sharedOut(table, size);
  const { at } = state.value;
  // The last row but one of the guide is the one that is no softmax.
  const usual = [Math.max(queries.length - 2, 0), keys.length - 1];
  const [query = 0, key = 0] = at[0] === place ? at.slice(1) : usual;
  const hand = { table, place, hand: [query, key] as const };
  const { quantities, result } = made.weight(query, key);
  const { score = 0, largest = 0, sum = 0 } = quantities;
  return (
    <section class="block">
      <h2>
        {keys.join(" ")} <span class="quiet">({heard(document)})</span>
      </h2>
      <div class="tables">
        <Table {...hand} title={say`query · key, as printed`} rows={scores} />
        <Table {...hand} title={say`divided by √${size} = ${short(Math.sqrt(size))}`} rows={made.scaled} made />
        <Table {...hand} title={say`softmax of each row`} rows={made.weights} made sums />
        <Table {...hand} title={say`the weights as printed`} rows={weights} sums />
      </div>
      <p class="worked" aria-live="polite" data-worked={String(result)}>
        {say`${queries[query]} → ${keys[key]}: ${short(scores[query]?.[key] ?? 0)} ÷ ${short(Math.sqrt(size))} = ${short(score)}, and exp(${short(score)} − ${short(largest)}) ÷ ${short(sum)} = ${<b>{short(result)}</b>}. Printed: ${weights[query]?.[key]}.`}
      </p>
    </section>
  );
}

interface TableProps {
  readonly table: PrintedScores;
  readonly place: number;
  readonly hand: readonly [query: number, key: number];
  readonly title: string;
  readonly rows: readonly (readonly number[])[];
  /** Whether they are computed; else they are written as they are printed. */
  readonly made?: true;
  /** Whether a column has the sum of each row, which is 1 for weights. */
  readonly sums?: true;
}

function Table({ table: { queries, keys }, place, hand, title, rows, made, sums }: TableProps): VNode {
  return (
    <table>
      <caption>{title}</caption>
      <thead>
        <tr>
          <td />
          {keys.map((word) => (
            <th scope="col" key={word}>
              {word}
            </th>
          ))}
          {sums && <th scope="col">{say`sum`}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, query) => {
          const sum = Number(row.reduce((all, value) => all + value, 0).toFixed(9));
          const wrong = sums === true && sum !== 1;
          return (
            <tr key={queries[query]} class={wrong ? "hidden" : ""} data-wrong={wrong}>
              <th scope="row">{queries[query]}</th>
              {row.map((value, key) => (
                <td key={keys[key]}>
                  <a
                    href={link({ at: [place, query, key] })}
                    aria-current={query === hand[0] && key === hand[1]}
                    data-value={String(value)}
                  >
                    {made === true ? short(value) : value}
                  </a>
                </td>
              ))}
              {sums && (
                <td>
                  {sum}
                  {wrong && " ≠ 1"}
                </td>
              )}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
