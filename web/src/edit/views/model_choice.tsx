/** In the rail: which model. */

import type { VNode } from "preact";
import { later } from "../../address/state.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { useSession } from "../session/context.ts";

/** The models of the server; nothing where there is one. */
export function ModelChoice(): VNode | null {
  const session = useSession();
  const { names } = useStore();
  const { offers } = session.engine;
  if (offers.length < 2) return null;
  return (
    <label class="choose">
      <span class="away">{say`model`}</span>
      <select
        value={later.value.model || names.run.title}
        onChange={(event) => session.choose(event.currentTarget.value)}
      >
        {offers.map(({ name }) => (
          <option value={name} key={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
