/** Beside a text as it is written: what the view is, and the node of the search that was opened. */

import type { VNode } from "preact";
import { link, state } from "../../address/state.ts";
import { useStore } from "../../views/hooks.ts";
import { chose, useRead } from "./held.ts";
import type { Search } from "./search.ts";

export function StepBeside({ search }: { search: Search | null }): VNode {
  const store = useStore();
  const { sentence, at } = state.value;
  const read = useRead(store, sentence);
  const node = search?.node(at[1]);
  const all = read !== null && search !== null && node !== undefined && chose(search, node, read);
  return (
    <>
      <div class="part">
        <p class="label">What is shown here</p>
        <p>
          Every number is one of this run. A decoder that reads a text computes at each word what it computed when it
          wrote it: so one run has all steps.
        </p>
        <p class="quiet">
          Space plays and pauses, ← and → go one step, ↑ and ↓ to another branch, Home to the first word that was
          written, + and − change the speed. A candidate that is chosen is written in place of the word, and the text
          goes on from there.
        </p>
      </div>
      {search !== null && node !== undefined && (
        <div class="part">
          <p class="label">From the search</p>
          <p class="strong">
            <bdi>{search.textUpTo(node) || search.word(node)}</bdi>
          </p>
          <p>{search.why(node)}</p>
          {!all && read !== null && <p class="quiet">This run has not read it.</p>}
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
