/** What was written so far: each branch from the word at which it leaves another one, to go back to. */

import type { VNode } from "preact";
import { written } from "../../numbers/letters.ts";
import { say } from "../../words/say.ts";
import type { Branch, Row } from "./written/branches.ts";
import { shared } from "./written/line.ts";
import type { Settings } from "./written/search.ts";

/** So many tokens of a branch are shown. */
const SHOWN = 14;

export function BranchesView(props: {
  readonly rows: readonly Row[];
  readonly ids: readonly number[];
  readonly given: number;
  /** What a token is written as, with the blank before it. */
  readonly wordOf: (id: number) => string;
  onChoose(branch: Branch, from: number): void;
}): VNode | null {
  const { rows, ids, given, wordOf, onChoose } = props;
  if (rows.length < 2) return null;
  return (
    <section class="block branches">
      <h2>{say`What was written so far`}</h2>
      <ol>
        {rows.map((row, number) => {
          const { branch } = row;
          const own = branch.ids.join() === ids.join();
          const from = number === 0 ? given : Math.max(row.from, given);
          const before = branch.ids.slice(Math.max(given, from - 4), from).map(wordOf);
          const text = branch.ids.slice(from, from + SHOWN).map(wordOf);
          return (
            <li key={branch.ids.join()} style={{ "--depth": String(Math.min(row.depth, 6)) }}>
              <button type="button" aria-current={own} onClick={() => onChoose(branch, from)}>
                {before.length > 0 && <span class="quiet">… {written(before.join("").trim())}</span>}
                <bdi>{written(text.join(""))}</bdi>
                {branch.ids.length > from + SHOWN && " …"}
              </button>
              <small class="quiet">{told(branch.search.record.settings)}</small>
            </li>
          );
        })}
      </ol>
    </section>
  );
}

function told({ method, temperature, seed, beams }: Settings): string {
  if (method === "sample") return say`temperature ${temperature}, seed ${seed}`;
  return method === "beam" ? say`beam of ${beams}` : say`always the likeliest`;
}

/** The branch above or below one, by its place in the list. */
export function beside(rows: readonly Row[], ids: readonly number[], by: number): Row | undefined {
  const best = rows.map(({ branch }) => shared(branch.ids, ids));
  const at = rows.findIndex(({ branch }) => branch.ids.join() === ids.join());
  return rows[(at < 0 ? best.indexOf(Math.max(...best)) : at) + by];
}
