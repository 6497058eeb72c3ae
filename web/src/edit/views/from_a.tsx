/** Of two runs that are compared: putting A's numbers into B. */

import type { VNode } from "preact";
import { later } from "../../address/state.ts";
import type { Answer } from "../../run/store.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { canSet } from "../changes/acts.ts";
import { useSession } from "../session/context.ts";
import { parseKept } from "../session/kept.ts";

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
          {say`Put A's number into B`}
        </button>
      </li>
      {vector && (
        <li>
          <button type="button" onClick={() => void session.patch(name, cell, true)}>
            {say`Put A's vector of this word into B`}
          </button>
        </li>
      )}
    </>
  );
}
