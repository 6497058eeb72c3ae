/** The turns of a conversation. */

import type { VNode } from "preact";
import { written } from "../../numbers/letters.ts";

/** What was said before, the last turn being the one that is answered: the reader's. */
export function Turns({ turns }: { turns: readonly string[] }): VNode | null {
  if (turns.length === 0) return null;
  return (
    <ol class="turns" aria-label="the conversation so far">
      {turns.map((turn, place) => (
        <li key={place} data-role={(turns.length - place) % 2 === 1 ? "you" : "model"}>
          <bdi>{written(turn)}</bdi>
        </li>
      ))}
    </ol>
  );
}
