/** Of two runs that are compared: a number of both. */

import type { VNode } from "preact";
import { link, state } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import type { Answer } from "../../run/store.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { parseKept } from "../session/kept.ts";

/** A number that is A's less B's, each a link to its own run. */
export function OfBoth({ answer }: { answer: Extract<Answer, { kind: "difference" }> }): VNode {
  const [a, b] = answer.sides;
  const row = parseKept(state.value.kept)?.row ?? null;
  const { names } = useStore();
  const ofRow = names.axes(answer.name)[0] === "sentence" && row !== null;
  const cell = ofRow ? [row, ...answer.cell.slice(1)] : answer.cell;
  return (
    <p data-sides={`${a} ${b}`}>
      {say`${<a href={link({ level: "number", tensor: answer.name, cell, shown: "A", ...(ofRow && { sentence: row }) })}>{short(a)}</a>} in A, ${<a href={link({ level: "number", tensor: answer.name, cell: answer.cell, shown: "" })}>{short(b)}</a>} in B. Open either for its formula.`}
    </p>
  );
}
