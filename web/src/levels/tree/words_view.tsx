/** An answer word by word: what was written so far, what could have come next, and what the step looked at. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useStore } from "../../frame/hooks.ts";
import { go, link, state } from "../../frame/state.ts";
import { toNumber } from "../../frame/views.ts";
import { counted, percent, short } from "../../run/numbers.ts";
import type { Side } from "../../run/record.ts";
import type { Source } from "../../run/source.ts";
import { blockOf, isAttention } from "../head/attention.ts";
import { chose, option, placeOf, stepOf, useRead, withOption } from "./held.ts";
import type { Node, Search } from "./search.ts";

/** So many candidates are named. */
const LISTED = 8;

/** The step in hand, within those of the run. */
function stepIn(read: readonly number[]): number {
  return Math.min(state.value.at[0] ?? 0, Math.max(0, read.length - 1));
}

export function WordsView({ side, search }: { side: Side; search: Search | null }): VNode {
  const store = useStore();
  const { names } = store;
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  if (read === null) return <p class="quiet">Reading …</p>;
  const step = stepIn(read);
  const to = (next: number): void => {
    const bound = Math.min(Math.max(next, 0), read.length - 1);
    go({ at: [bound, ...at.slice(1)] }, true);
  };
  const place = placeOf(names, sentence, step);
  const nodes = search === null ? [] : nodesAt(search, at[1], read);
  const inHand = search?.node(at[1]);
  return (
    <>
      <div class="step-slider">
        <label>
          <span>
            step {step + 1} of {read.length}
          </span>
          <input
            type="range"
            min={1}
            max={read.length}
            value={step + 1}
            aria-valuetext={`step ${step + 1}: behind ${names.word(side, sentence, step).text}`}
            onInput={(event) => to(Number(event.currentTarget.value) - 1)}
          />
        </label>
        <button type="button" aria-label="one step back" disabled={step === 0} onClick={() => to(step - 1)}>
          ◀
        </button>
        <button type="button" aria-label="one step on" disabled={step === read.length - 1} onClick={() => to(step + 1)}>
          ▶
        </button>
      </div>
      <p class="written-so-far">
        {read.map((_, token) => {
          const { text } = names.word(side, sentence, token);
          const where = token < step ? "before" : token === step ? "now" : "later";
          return (
            <button
              type="button"
              key={token}
              data-where={where}
              onClick={() => to(token)}
              aria-current={token === step}
            >
              <bdi>{text}</bdi>
            </button>
          );
        })}
      </p>
      <p class="quiet">
        The decoder has read up to the framed word, and chooses what comes behind it.
        {side === "decoder_inputs" && step === 0 && " It begins with a start mark."}
      </p>
      <div class="step-parts">
        <Candidates
          place={place}
          next={read[step + 1]}
          asked={inHand !== undefined && stepAt(search, inHand) === step ? inHand.token : undefined}
          nodes={nodes.filter((node) => stepAt(search, node) === step)}
        />
        <Looks side={side} step={step} />
      </div>
    </>
  );
}

/** The nodes that were looked at along the way of one of them, or of this run. */
function nodesAt(search: Search, number: number | undefined, read: readonly number[]): readonly Node[] {
  const way = search.node(number);
  const nodes = search.record.nodes.filter((node) => chose(search, node, read));
  return way === undefined || nodes.includes(way) ? nodes : [];
}

function stepAt(search: Search | null, node: Node): number {
  return search === null ? -1 : stepOf(search, node);
}

const FATES: Readonly<Partial<Record<Node["fate"], string>>> = {
  kept: "kept",
  answer: "ends",
  hopeless: "given up",
  below: "not kept",
  unlikely: "not kept",
  undrawn: "not drawn",
  cut: "left out",
  forbidden: "forbidden",
};

/** The likeliest tokens of a step, each with a link to its number. */
function Candidates({
  place,
  next,
  asked,
  nodes,
}: {
  place: number;
  /** The token that this run reads next, and the one that the search was left with. */
  next: number | undefined;
  asked: number | undefined;
  nodes: readonly Node[];
}): VNode {
  const { names, source } = useStore();
  const [found, setFound] = useState<{ of: Source; place: number; row: ArrayLike<number> } | null>(null);
  const tensor = "head.probabilities";
  const known = names.knows(tensor);
  useEffect(() => {
    let current = known && place >= 0;
    if (current) {
      void source.numbersAt(tensor, [place]).then((row) => {
        if (current && row !== undefined) setFound({ of: source, place, row });
      });
    }
    return () => {
      current = false;
    };
  }, [source, place, known]);
  if (!known || place < 0) return <p class="wrong">This run has no scores of the vocabulary at this word.</p>;
  if (found === null || found.of !== source || found.place !== place) return <p class="quiet">…</p>;
  const { row } = found;
  const order = Array.from(row, (_, token) => token).sort((one, two) => (row[two] ?? 0) - (row[one] ?? 0));
  const listed = order.slice(0, LISTED);
  for (const one of [next, asked]) if (one !== undefined && !listed.includes(one)) listed.push(one);
  const most = row[order[0] ?? 0] ?? 1;
  const left = 1 - listed.reduce((sum, token) => sum + (row[token] ?? 0), 0);
  return (
    <section class="block candidates">
      <h2>What could come next</h2>
      <table>
        <tbody>
          {listed.map((token) => {
            const fate = nodes.find((node) => node.token === token)?.fate;
            const told = token === next ? "in this text" : token === asked ? "opened from the search" : "";
            return (
              <tr key={token} aria-current={token === (asked ?? next)} data-token={token}>
                <th>
                  <bdi>{names.label(tensor, "vocabulary", token, 0).text}</bdi>
                </th>
                <td class="bar">
                  <i style={{ width: `${(100 * (row[token] ?? 0)) / most}%` }} />
                </td>
                <td>
                  <a href={toNumber(tensor, [place, token], names)} data-value={row[token]}>
                    {short(row[token] ?? 0)}
                  </a>
                </td>
                <td>{[told, fate === undefined ? "" : FATES[fate]].filter(Boolean).join(", ")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">
        {counted(row.length - listed.length, "other token")} together {percent(Math.max(left, 0))}
      </p>
    </section>
  );
}

/** What the step looked at: for each attention the shares of the words, of one head or the mean of all. */
function Looks({ side, step }: { side: Side; step: number }): VNode {
  const { names, source } = useStore();
  const all = names.run.formulas.filter((each) => isAttention(each) && each.tokens === side).map(({ name }) => name);
  const blocks = [...new Set(all.map(blockOf))];
  const block = blocks.includes(option("block")) ? option("block") : (blocks.at(-1) ?? "0");
  const mine = all.filter((name) => blockOf(name) === block);
  const heads = Math.max(1, ...mine.map((name) => source.shape(name)?.[1] ?? 1));
  const head = /^\d+$/.test(option("head")) ? Math.min(Number(option("head")), heads - 1) : null;
  const set = (name: string, value: string): void => go({ options: withOption(name, value) }, true);
  return (
    <section class="block looks">
      <h2>What it looked at</h2>
      <div class="controls">
        <label>
          block
          <select value={block} onChange={(event) => set("block", event.currentTarget.value)}>
            {blocks.map((each) => (
              <option value={each} key={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        <label>
          head
          <select
            value={head === null ? "" : String(head)}
            onChange={(event) => set("head", event.currentTarget.value)}
          >
            <option value="">mean of {heads}</option>
            {Array.from({ length: heads }, (_, each) => (
              <option value={String(each)} key={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
      </div>
      {mine.map((name) => (
        <Look key={name} name={name} step={step} head={head} />
      ))}
    </section>
  );
}

function Look({ name, step, head }: { name: string; step: number; head: number | null }): VNode {
  const { names, source } = useStore();
  const { sentence } = state.value;
  const [found, setFound] = useState<{ of: Source; key: string; all: ArrayLike<number> } | null>(null);
  const key = `${name} ${sentence}`;
  useEffect(() => {
    let current = true;
    void source.numbersAt(name, [sentence]).then((all) => {
      if (current && all !== undefined) setFound({ of: source, key, all });
    });
    return () => {
      current = false;
    };
  }, [source, key]);
  const [, heads = 1, queries = 1, keys = 1] = source.shape(name) ?? [];
  const crossing = name.includes("cross_attention");
  const keySide = names.formulas.get(name)?.keys ?? "inputs";
  const title = crossing ? "at the source (cross-attention)" : "back at what is written (self-attention)";
  if (found === null || found.of !== source || found.key !== key) return <p class="quiet">…</p>;
  const share = (key: number): number => {
    const of = (one: number): number => found.all[(one * queries + step) * keys + key] ?? 0;
    if (head !== null) return of(head);
    return Array.from({ length: heads }, (_, one) => of(one)).reduce((sum, one) => sum + one, 0) / heads;
  };
  const real = Math.min(names.run.words[keySide][sentence]?.length ?? keys, keys);
  const shown = crossing ? real : Math.min(real, step + 1);
  const to = { level: "head", tensor: name, cell: [sentence, head ?? 0, step, 0], layout: [] } as const;
  return (
    <>
      <h3>
        {title}: <a href={link(to)}>{head === null ? "its heads" : `head ${head}`} →</a>
      </h3>
      <ul class="shares" data-attention={name}>
        {Array.from({ length: shown }, (_, key) => {
          const value = share(key);
          const cell = [sentence, head ?? 0, step, key];
          return (
            <li key={key} style={{ "--share": String(value) }}>
              <bdi>{names.word(keySide, sentence, key).text}</bdi>
              {head === null ? (
                <span data-value={value}>{short(value, 2)}</span>
              ) : (
                <a href={toNumber(name, cell, names)} data-value={value}>
                  {short(value, 2)}
                </a>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

export function StepBeside({ search }: { search: Search | null }): VNode {
  const store = useStore();
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  const node = search?.node(at[1]);
  const reads = read !== null && search !== null && node !== undefined && chose(search, node, read);
  return (
    <>
      <div class="part">
        <p class="label">What stands here</p>
        <p>
          Every number is one of this run. A decoder that reads a text computes at each word what it computed when it
          wrote it: so one run has all steps.
        </p>
      </div>
      {search !== null && node !== undefined && (
        <div class="part">
          <p class="label">From the search</p>
          <p class="strong">
            <bdi>{search.textUpTo(node) || search.word(node)}</bdi>
          </p>
          <p>{search.why(node)}</p>
          {!reads && read !== null && <p class="quiet">This run has not read it.</p>}
          <p>
            <a class="strong" href={link({ picture: "", at: [node.number] })}>
              Back to the search tree
            </a>
          </p>
        </div>
      )}
      <div class="part">
        <p class="label">More of this run</p>
        <ul class="links">
          <li>
            <a href={link({ level: "model" })}>the whole model</a>
          </li>
          <li>
            <a href={link({ level: "heads" })}>all heads</a>
          </li>
        </ul>
      </div>
    </>
  );
}
