/** The answer first: where the word in hand looks, in each head that is shown. */

import type { VNode } from "preact";
import { toNumber } from "../../address/links.ts";
import type { Attention } from "../../formulas/attention.ts";
import type { Fetch } from "../../formulas/evaluator.ts";
import { apart } from "../../numbers/apart.ts";
import { range } from "../../numbers/arithmetic.ts";
import { evenly, short } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import type { Shown, ShownHead } from "./plan.ts";
import { numberAt } from "./score_table.tsx";
import { rowOf } from "./stage.tsx";
import { strongest } from "./weights.ts";

const COUNTS = ["", "", say`two`, say`three`, say`four`, say`five`, say`six`, say`seven`, say`eight`];

export function Answered({
  shown,
  attention,
  cell,
}: {
  shown: Shown;
  attention: Attention;
  cell: readonly number[];
}): VNode {
  const { names, fetch } = useStore();
  const query = rowOf(shown.queries, cell[2]);
  const word = shown.queries[query];
  const { heads, own } = shown;
  const where = heads.length === 1 ? (heads[0]?.name ?? "") : say`${COUNTS[heads.length]} heads`;
  // One head: its three strongest. Several: the strongest of each.
  const most = heads.length === 1 ? 3 : 1;
  const open = openTo(shown, attention, query, fetch);
  const row = heads[own]?.weights.row(query) ?? new Float64Array();
  const digits = apart([...row], 3);
  const [least, largest] = [Math.min(...row.filter((each) => each !== 0)), Math.max(...row)];
  const alike = heads.length === 1 && open > 1 && largest <= ALIKE / open && least * ALIKE >= 1 / open;
  return (
    <div class="answered">
      <h1 class="big">
        {say`In ${where}, ${<span class={word?.hidden === true ? "hidden" : ""}>{say`“${<bdi>{word?.text}</bdi>}”`}</span>} looks at ${alike && say`all ${open} tokens almost alike, first at `}`}
        {heads.map((head, order) => {
          const ends = endsOf(head, query, most);
          return (
            <>
              {order > 0 && (order === heads.length - 1 ? say` and ` : ", ")}
              {ends.length === 0 && say`nothing shown`}
              {ends.map(({ key, value }, place) => (
                <>
                  {place > 0 && ", "}
                  <span style={{ borderBottom: `4px ${head.dash === 0 ? "solid" : "dashed"} ${head.colour}` }}>
                    <bdi>{quoted(shown.keys[key]?.text ?? "")}</bdi>
                  </span>{" "}
                  {order === own ? (
                    <a class="share-of" href={toNumber(shown.tensor, cellOf(shown, query, key), names)}>
                      {short(value, digits)}
                    </a>
                  ) : (
                    <span class="share-of">{short(value)}</span>
                  )}
                </>
              ))}
            </>
          );
        })}
        .
      </h1>
      <p class="quiet">
        {names.place(attention.weights)}
        {heads.map((head) => unseen(head, query, heads.length > 1)).join("")}
        {open > 1 && say`; an even share is ${evenly(open)}`}
        {alike && say`, and almost alike means that none has ${ALIKE} times that`}
      </p>
    </div>
  );
}

/** Weights are almost alike where the largest is less than so many times an even share, and that so many times the least. */
const ALIKE = 1.5;

/** At how many tokens the word in hand may look; 0 while that is not known. */
function openTo({ heads, own, sentence, head }: Shown, attention: Attention, query: number, fetch: Fetch): number {
  const weights = heads[own]?.weights;
  const token = weights?.queries[query]?.tokens[0] ?? 0;
  const row = weights?.tokens.row(token) ?? null;
  const looks = attention.mayLook === null ? undefined : fetch(attention.mayLook);
  if (weights === undefined || row === null) return 0;
  const every = range(weights.tokens.keys, (key) => {
    return looks === undefined ? (row.data[row.from + key] ?? 0) : numberAt(looks, [sentence, head, token, key]);
  });
  return every.filter((each) => each !== 0).length;
}

/** A word is named in addition to the strongest where it holds at least so much of that one's weight. */
const NAMED = 0.1;

/** A full stop of its own would be lost among those of the sentence. */
function quoted(text: string): string {
  return /^[\p{P}\p{S}]+$/u.test(text) ? say`“${text}”` : text;
}

function endsOf({ weights }: ShownHead, query: number, most: number): { key: number; value: number }[] {
  const row = weights.row(query) ?? new Float64Array();
  const ends = strongest(row, 0.95, most).map((key) => ({ key, value: row[key] ?? 0 }));
  return ends.filter(({ value }) => value >= NAMED * (ends[0]?.value ?? 0));
}

/** What the tokens hold that have no row. */
function unseen({ weights, name, block }: ShownHead, query: number, named: boolean): string {
  const row = weights.row(query);
  const looking = weights.queries[query]?.tokens ?? [];
  if (row === null) return "";
  let whole = 0;
  for (const token of looking) {
    const found = weights.tokens.row(token);
    if (found === null) return "";
    for (let key = 0; key < weights.tokens.keys; key++) whole += (found.data[found.from + key] ?? 0) / looking.length;
  }
  const left = whole - row.reduce((sum, value) => sum + value, 0);
  return left > 1e-6
    ? say`; ${named ? `${block} ${name}: `.trimStart() : ""}what is hidden holds ${short(left)} more`
    : "";
}

function cellOf({ queries, keys, sentence, head, heads, own }: Shown, query: number, key: number): number[] {
  const from = queries[query]?.tokens[0] ?? 0;
  const unit = keys[key];
  const weights = heads[own]?.weights;
  return [sentence, head, from, unit === undefined || weights === undefined ? 0 : weights.strongestIn(from, unit)];
}
