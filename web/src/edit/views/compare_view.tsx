/** Two runs side by side: the one that was kept, A, the one of now, B, and A − B. */

import type { VNode } from "preact";
import { toNumber } from "../../address/links.ts";
import { go, later, type Shown } from "../../address/state.ts";
import { grouped, short } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { useSession } from "../session/context.ts";
import { formatKept, parseKept } from "../session/kept.ts";

const SIDES: readonly { readonly shown: Shown; readonly text: string }[] = [
  { shown: "A", text: "A" },
  { shown: "", text: "B" },
  { shown: "A-B", text: say`A − B` },
];

export function Compare(): VNode | null {
  const session = useSession();
  const { names } = useStore();
  const { model, changes, sentence, kept, shown } = later.value;
  const found = parseKept(kept);
  const texts = Math.max(names.run.words.inputs.length, names.run.words.decoder_inputs.length);
  const keep = (row: number | null): void => go({ kept: formatKept({ row, model, changes }), shown: "" });
  if (found === null) {
    return (
      <div class="compare">
        <ul class="acts">
          <li>
            <button type="button" onClick={() => keep(null)}>
              {say`Keep this run as A`}
            </button>
          </li>
          {texts > 1 && (
            <li>
              <button type="button" onClick={() => keep(sentence)}>
                {say`Keep this sentence as A`}
              </button>
            </li>
          )}
        </ul>
      </div>
    );
  }
  return (
    <div class="compare">
      <fieldset>
        <legend class="away">{say`which run is shown`}</legend>
        {SIDES.map((side) => (
          <label key={side.text}>
            <input
              type="radio"
              name="side"
              checked={shown === side.shown}
              onChange={() => go({ shown: side.shown }, true)}
            />
            {side.text}
          </label>
        ))}
      </fieldset>
      <p>
        <b>A</b> {session.describe(found)}
      </p>
      <p>
        <b>B</b> {session.describe({ row: null, model, changes })}
      </p>
      <Between />
      <ul class="acts">
        <li>
          <button type="button" onClick={() => go({ kept: "", shown: "" })}>
            {say`End the comparison`}
          </button>
        </li>
      </ul>
    </div>
  );
}

/** How many numbers differ between A and B, and which one most. */
function Between(): VNode | null {
  const session = useSession();
  const { names } = useStore();
  const found = session.between.value;
  if (found === null) return null;
  const { changed, of, resized, largest } = found;
  return (
    <p class="quiet" role="status" data-differ={changed}>
      {say`${grouped(changed)} of ${grouped(of)} numbers differ`}
      {largest !== null &&
        say`, the most, A − B = ${<b>{short(largest.by)}</b>}: ${(
          <a href={toNumber(largest.name, largest.cell, names)}>
            {names.title(largest.name)}, {names.cell(largest.name, largest.cell)}
          </a>
        )}`}
      {resized > 0 && say`; ${resized} tensors have another size`}
    </p>
  );
}
