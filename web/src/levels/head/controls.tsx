/** Which heads are shown, and how. */

import type { VNode } from "preact";
import { go, link } from "../../address/state.ts";
import { type Attention, blockOf, type Chosen } from "../../formulas/attention.ts";
import { range } from "../../numbers/arithmetic.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { Filters } from "./filters.tsx";
import { toggled, withHead } from "./keys.ts";
import type { Shown } from "./plan.ts";
import type { Text } from "./units.ts";

interface ControlsProps {
  readonly attention: Attention;
  readonly cell: readonly number[];
  readonly heads: readonly Chosen[];
  readonly peers: readonly string[];
  readonly count: number;
  readonly shown: Shown | null;
  readonly text: Text;
}

const MORE = [
  ["only", say`only the word in hand`],
  ["across", say`words across`],
] as const;

export function Controls({ attention, cell, heads, peers, count, shown, text }: ControlsProps): VNode {
  const { names } = useStore();
  const { weights } = attention;
  const block = blockOf(weights);
  const head = cell[1] ?? 0;
  const own = `${block}.${head}`;
  const others = heads.filter(({ weights: name }) => name !== weights);
  return (
    <div class="head-controls">
      {peers.length > 1 && (
        <label>
          {say`block`}
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
        <legend class="away">{say`heads`}</legend>
        <span class="quiet">{say`head`}</span>
        {range(count, (each) => {
          const id = `${block}.${each}`;
          const order = heads.findIndex((chosen) => chosen.id === id);
          return (
            <span class="head-choice" data-own={each === head} key={id}>
              <input
                type="checkbox"
                checked={order >= 0}
                disabled={each === head}
                aria-label={say`lines of head ${each}`}
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
              aria-label={say`lines of block ${id.replace(".", say`, head `)}`}
              onChange={() => go(toggled(id, heads, own), true)}
            />
            <span style={{ borderBottomColor: `var(--head-${heads.findIndex((each) => each.id === id) + 1})` }}>
              {say`block ${id.replace(".", say`, head `)}`}
            </span>
          </span>
        ))}
      </fieldset>
      <Filters text={text} more={MORE} />
      {shown === null && <p class="quiet">{names.title(weights)} …</p>}
    </div>
  );
}
