/** In the place of what this page does not have: why not, and how to get it. */

import type { VNode } from "preact";
import { state } from "../address/state.ts";
import { heard, say } from "../words/say.ts";
import { Command } from "./command.tsx";
import type { Lacking } from "./found.ts";
import { useStore } from "./hooks.ts";

/** `what` begins the sentence; `how`: commands that give it, besides the one that opens this run live. */
export function Lack({ what, told, how = [] }: { what: string; told: Lacking; how?: readonly string[] }): VNode {
  const { names, source } = useStore();
  const { command } = names.run.editing ?? {};
  const live = source.whole && command !== undefined ? [command] : [];
  if (told.reason !== "") {
    return (
      <p class="wrong">
        {what}: {heard(told.reason)}
      </p>
    );
  }
  return (
    <div class="lack">
      <p class="wrong">
        {what}:{" "}
        {state.value.changes === "" ? say`this page was written without it` : say`it is of the run before its changes`}.
        {[...how, ...live].length > 0 && say` These commands give it:`}
      </p>
      {[...how, ...live].map((each) => (
        <p key={each}>
          <Command text={each} />
        </p>
      ))}
    </div>
  );
}
