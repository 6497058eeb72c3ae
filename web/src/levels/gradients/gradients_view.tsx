/** What an answer owes to each word by its gradient, beside where attention looks: two questions with two answers. */

import type { VNode } from "preact";
import { isLacking, useFound, useSection } from "../../frame/found.ts";
import { useStore } from "../../frame/hooks.ts";
import { Lack } from "../../frame/lack.tsx";
import { go, link, state } from "../../frame/state.ts";
import { toNumber, toTensor } from "../../frame/views.ts";
import { type Looks, looksOf } from "../../run/looks.ts";
import { short } from "../../run/numbers.ts";
import type { Attributed, Attributions, Goal } from "../../run/sums.ts";
import { blockOf } from "../head/attention.ts";
import { kindsOf } from "../ties/ties.ts";
import { alikeness } from "./ranks.ts";

export function GradientsView(): VNode {
  const { names } = useStore();
  const told = useSection<Attributions>("attributions");
  return (
    <>
      <h1 class="away">{`${names.run.title}: attention beside gradients`}</h1>
      {told !== null && isLacking(told) && <Lack what="No gradients" told={told} />}
      {told !== null && !isLacking(told) && <Goals all={told} />}
    </>
  );
}

function Goals({ all }: { all: Attributions }): VNode {
  const { names } = useStore();
  const { at, options, sentence } = state.value;
  const first = Math.max(
    all.goals.findIndex((goal) => goal.sentence === sentence),
    0,
  );
  const place = at[0] !== undefined && at[0] < all.goals.length ? at[0] : first;
  const goal = all.goals[place];
  if (goal === undefined) return <p class="wrong">No number of this run was chosen to be explained by its gradient.</p>;
  const side = goal.of.find((each) => each.side === options[0]) ?? goal.of[0];
  return (
    <>
      <p class="answer">
        What <b class="hidden">{goal.text}</b> owes to each word: score{" "}
        <a href={toNumber(goal.name, goal.cell, names)}>{short(goal.value)}</a>
      </p>
      <div class="controls">
        <label>
          the answer
          <select value={String(place)} onChange={(event) => go({ at: [Number(event.currentTarget.value)] }, true)}>
            {all.goals.map(({ text }, order) => (
              <option value={String(order)} key={order}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {goal.of.length > 1 && (
          <label>
            words of
            <select value={side?.side ?? ""} onChange={(event) => go({ options: [event.currentTarget.value] }, true)}>
              {goal.of.map((each) => (
                <option value={each.side} key={each.side}>
                  {each.side === "inputs" ? (goal.of.length > 1 ? "the source" : "the text") : "the target"}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {side !== undefined && <Words goal={goal} of={side} />}
      <p class="rule-of-heads">
        {all.note} {all.left_out}
      </p>
    </>
  );
}

/** Of more words only those that one of the columns names among its largest are listed. */
const LISTED = 40;

function Words({ goal, of }: { goal: Goal; of: Attributed }): VNode {
  const { names, source } = useStore();
  const { sentence } = goal;
  const kinds = kindsOf(names);
  // The place that answers is one of the last stack’s: it looks at words of its own side, or across.
  const own = names.formulas.get(goal.name)?.tokens ?? "inputs";
  const kind = kinds.find(({ queries, keys }) => queries === own && keys === of.side);
  const query = placeOf(goal, names);
  const block = Math.min(state.value.at[1] ?? Number.POSITIVE_INFINITY, (kind?.weights.length ?? 1) - 1);
  const weights = kind?.weights[block];
  const { value } = useFound(`${weights} ${sentence} ${query}`, async () => {
    const looks =
      weights === undefined || query === null ? undefined : await looksOf(source, weights, sentence, [query]);
    return { of: `${weights} ${query}`, looks };
  });
  const looks = value?.of === `${weights} ${query}` ? value.looks : undefined;
  const tokens = Array.from(of.gradient.keys());
  const mean = tokens.map((token) => meanOf(looks, token));
  const columns = [mean, of.gradient, of.product.map(Math.abs)];
  const listed =
    tokens.length <= LISTED
      ? tokens
      : [...new Set(columns.flatMap((column) => largest(column, Math.floor(LISTED / 3))))].sort(
          (one, two) => one - two,
        );
  const most = columns.map((column) => Math.max(1e-30, ...column));
  const bar = (column: number, value: number): VNode => (
    <i
      data-sign={value < 0 ? "below" : "above"}
      style={{ width: `${(100 * Math.abs(value)) / (most[column] ?? 1)}%` }}
    />
  );
  return (
    <>
      {kind !== undefined && kind.weights.length > 1 && (
        <p class="controls">
          <label>
            attention of block
            <select
              value={String(block)}
              onChange={(event) => go({ at: [state.value.at[0] ?? 0, Number(event.currentTarget.value)] }, true)}
            >
              {kind.weights.map((name, order) => (
                <option value={String(order)} key={name}>
                  {blockOf(name)}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      <section class="scroll owed" tabIndex={0} aria-label="attention and gradients of each word">
        <table>
          <thead>
            <tr>
              <th>word</th>
              <th>attention{weights !== undefined && ` of block ${blockOf(weights)}, mean of heads`}</th>
              <th>strongest head</th>
              <th>length of the gradient</th>
              <th>input × gradient</th>
            </tr>
          </thead>
          <tbody>
            {listed.map((token) => {
              const word = names.word(of.side, sentence, token);
              const head = strongest(looks, token);
              const product = of.product[token] ?? 0;
              return (
                <tr key={token} data-token={token}>
                  <th scope="row" class={word.hidden ? "hidden" : ""}>
                    <bdi>{word.text}</bdi>
                  </th>
                  <td class="attention">
                    {looks !== undefined && bar(0, mean[token] ?? 0)}
                    {looks === undefined ? "" : short(mean[token] ?? 0)}
                  </td>
                  <td>
                    {head !== null && weights !== undefined && query !== null && (
                      <a class="attention" href={toNumber(weights, [sentence, head.head, query, token], names)}>
                        {head.head}: {short(head.weight)}
                      </a>
                    )}
                  </td>
                  <td data-gradient={of.gradient[token]}>
                    {bar(1, of.gradient[token] ?? 0)}
                    {short(of.gradient[token] ?? 0)}
                  </td>
                  <td data-product={product}>
                    {bar(2, product)}
                    {product > 0 ? "+" : ""}
                    {short(product)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
      <p class="said">
        {looks !== undefined && tokens.length > 2 && (
          <>
            Attention and input × gradient (without its sign) order the words alike to{" "}
            <b data-alike={alikeness(mean, columns[2] ?? [])}>{short(alikeness(mean, columns[2] ?? []), 2)}</b>, on a
            scale from −1 to 1 (Spearman’s rank correlation).{" "}
          </>
        )}
        {kind === undefined && "The place that answers does not look at these words in one step. "}
        The gradient was taken at{" "}
        <a href={toTensor(of.tensor, [sentence, listed[0] ?? 0, 0], names)}>{names.place(of.tensor)}</a>: how much the
        score would change if a word’s vector changed a little; times the vector: what the score owes to it, to first
        order. Striped: it lowers the score. <a href={link({ level: "heads" })}>What a head is worth</a> is measured by
        switching it off.
      </p>
    </>
  );
}

/** The token whose place answers; null where the answer is for the whole text. */
function placeOf({ name, cell }: Goal, names: ReturnType<typeof useStore>["names"]): number | null {
  const axes = names.axes(name);
  const place = axes.indexOf("place");
  if (place >= 0) return names.run.places[cell[place] ?? 0]?.[1] ?? null;
  const token = axes.indexOf("token");
  return token < 0 ? null : (cell[token] ?? null);
}

function meanOf(looks: Looks | undefined, token: number): number {
  const heads = looks?.heads ?? [];
  return heads.reduce((sum, row) => sum + (row[token] ?? 0) / heads.length, 0);
}

function strongest(looks: Looks | undefined, token: number): { head: number; weight: number } | null {
  let best: { head: number; weight: number } | null = null;
  looks?.heads.forEach((row, head) => {
    const weight = row[token] ?? 0;
    if (best === null || weight > best.weight) best = { head, weight };
  });
  return best;
}

function largest(values: readonly number[], count: number): number[] {
  return [...values.keys()].sort((one, two) => (values[two] ?? 0) - (values[one] ?? 0)).slice(0, count);
}
