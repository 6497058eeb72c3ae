/** Which heads are shown, and how. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { useStore } from "../../frame/hooks.ts";
import { go, link, state } from "../../frame/state.ts";
import { type Attention, blockOf } from "./attention.ts";
import type { Chosen } from "./head_view.tsx";
import { toggled, withHead } from "./keys.ts";
import { optionsIn, switched } from "./options.ts";
import type { Shown } from "./plan.ts";
import { segmentsOf, type Text, tokensOf, wordsOf } from "./units.ts";

interface ControlsProps {
  readonly attention: Attention;
  readonly cell: readonly number[];
  readonly heads: readonly Chosen[];
  readonly peers: readonly string[];
  readonly count: number;
  readonly shown: Shown | null;
  readonly text: Text;
}

export function Controls({ attention, cell, heads, peers, count, shown, text }: ControlsProps): VNode {
  const { names } = useStore();
  const { weights } = attention;
  const block = blockOf(weights);
  const head = cell[1] ?? 0;
  const own = `${block}.${head}`;
  const found = useMemo(() => {
    const tokens = tokensOf(text);
    return {
      joined: wordsOf(text, tokens).length < tokens.length,
      marked: tokens.some((token) => token.mark),
      pair: segmentsOf(text) !== null,
    };
  }, [text.names, text.side, text.sentence]);
  const options = optionsIn(state.value.show);
  const flags: [keyof typeof options, string][] = [];
  if (options.words || found.joined) flags.push(["words", "words instead of tokens"]);
  if (options.bare || found.marked) flags.push(["bare", "hide marks and padding"]);
  flags.push(["only", "only the word in hand"], ["across", "words across"]);
  const others = heads.filter(({ weights: name }) => name !== weights);
  return (
    <div class="head-controls">
      {peers.length > 1 && (
        <label>
          block
          <select
            value={weights}
            onChange={(event) => go(withHead(event.currentTarget.value, head, cell, heads, own), true)}
          >
            {peers.map((name) => (
              <option value={name}>{blockOf(name)}</option>
            ))}
          </select>
        </label>
      )}
      <fieldset>
        <legend class="away">heads</legend>
        <span class="quiet">head</span>
        {Array.from({ length: count }, (_, each) => {
          const id = `${block}.${each}`;
          const order = heads.findIndex((chosen) => chosen.id === id);
          return (
            <span class="head-choice" data-own={each === head} key={id}>
              <input
                type="checkbox"
                checked={order >= 0}
                disabled={each === head}
                aria-label={`lines of head ${each}`}
                onChange={() => go(toggled(id, heads, own), true)}
              />
              <a
                href={link(withHead(weights, each, cell, heads, own))}
                aria-current={each === head}
                style={order >= 0 ? { borderBottomColor: `var(--head-${order + 1})` } : {}}
                data-dashed={order > 0}
              >
                {each}
              </a>
            </span>
          );
        })}
        {others.map(({ id }) => (
          <span class="head-choice" key={id}>
            <input
              type="checkbox"
              checked
              aria-label={`lines of block ${id.replace(".", ", head ")}`}
              onChange={() => go(toggled(id, heads, own), true)}
            />
            <span style={{ borderBottomColor: `var(--head-${heads.findIndex((each) => each.id === id) + 1})` }}>
              block {id.replace(".", ", head ")}
            </span>
          </span>
        ))}
      </fieldset>
      <div class="flags">
        {flags.map(([name, words]) => (
          <label key={name}>
            <input
              type="checkbox"
              checked={options[name] === true}
              onChange={() => go({ show: options[name] === true ? switched([name], []) : switched([], [name]) }, true)}
            />
            {words}
          </label>
        ))}
        {found.pair &&
          (["from", "to"] as const).map((side) => (
            <label key={side}>
              {side === "from" ? "looks" : "is looked at"}
              <select
                value={String(options[side])}
                onChange={(event) => {
                  const chosen = event.currentTarget.value;
                  const both = [`${side}-0`, `${side}-1`];
                  go({ show: switched(both, chosen === "null" ? [] : [`${side}-${chosen}`]) }, true);
                }}
              >
                <option value="null">both sentences</option>
                <option value="0">the first</option>
                <option value="1">the second</option>
              </select>
            </label>
          ))}
      </div>
      {shown === null && <p class="quiet">{names.title(weights)} …</p>}
    </div>
  );
}
