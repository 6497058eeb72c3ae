/** Two runs beside each other: the one that was kept, A, the one of now, B, and A − B. */

import type { VNode } from "preact";
import { toNumber } from "../../address/links.ts";
import { go, later, link, type Shown, state } from "../../address/state.ts";
import { grouped, short } from "../../numbers/written.ts";
import type { Answer } from "../../run/store.ts";
import { useStore } from "../../views/hooks.ts";
import { canSet } from "../changes/acts.ts";
import { useSession } from "../session/context.ts";
import { formatKept, parseKept } from "../session/kept.ts";

const SIDES: readonly { readonly shown: Shown; readonly text: string }[] = [
  { shown: "A", text: "A" },
  { shown: "", text: "B" },
  { shown: "A-B", text: "A − B" },
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
      <div class="part compare">
        <p class="label">Compare</p>
        <ul class="acts">
          <li>
            <button type="button" onClick={() => keep(null)}>
              Keep this run as A
            </button>
          </li>
          {texts > 1 && (
            <li>
              <button type="button" onClick={() => keep(sentence)}>
                Keep this sentence as A
              </button>
            </li>
          )}
        </ul>
      </div>
    );
  }
  return (
    <div class="part compare">
      <p class="label">Compare</p>
      <fieldset>
        <legend class="away">which run is shown</legend>
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
            End the comparison
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
      {grouped(changed)} of {grouped(of)} numbers differ
      {largest !== null && (
        <>
          , the most, A − B = <b>{short(largest.by)}</b>:{" "}
          <a href={toNumber(largest.name, largest.cell, names)}>
            {names.title(largest.name)}, {names.cell(largest.name, largest.cell)}
          </a>
        </>
      )}
      {resized > 0 && `; ${resized} tensors have another size`}
    </p>
  );
}

/** A number that is A's less B's, each a link to its own run. */
export function OfBoth({ answer }: { answer: Extract<Answer, { kind: "difference" }> }): VNode {
  const [a, b] = answer.sides;
  const row = parseKept(state.value.kept)?.row ?? null;
  const { names } = useStore();
  const ofRow = names.axes(answer.name)[0] === "sentence" && row !== null;
  const cell = ofRow ? [row, ...answer.cell.slice(1)] : answer.cell;
  return (
    <p data-sides={`${a} ${b}`}>
      <a href={link({ level: "number", tensor: answer.name, cell, shown: "A", ...(ofRow && { sentence: row }) })}>
        {short(a)}
      </a>{" "}
      in A, <a href={link({ level: "number", tensor: answer.name, cell: answer.cell, shown: "" })}>{short(b)}</a> in B.
      Open either for its formula.
    </p>
  );
}

/** A's vector has at most so many numbers, where it is put into B one by one. */
const MOST = 32;

/** Puts A's numbers into B: one change each. */
export function FromA({ answer }: { answer: Answer }): VNode | null {
  const session = useSession();
  const { names, shape } = useStore();
  const { name, cell } = answer;
  if (parseKept(later.value.kept) === null || session.engine.why !== "" || !canSet(name, names)) return null;
  const channels = shape(name)?.[cell.length - 1] ?? 0;
  const vector = names.axes(name).at(-1) === "channel" && (session.engine.offers.length > 0 || channels <= MOST);
  return (
    <>
      <li>
        <button type="button" onClick={() => void session.patch(name, cell, false)}>
          Put A's number into B
        </button>
      </li>
      {vector && (
        <li>
          <button type="button" onClick={() => void session.patch(name, cell, true)}>
            Put A's vector of this word into B
          </button>
        </li>
      )}
    </>
  );
}
