/** The sentence in front, in large letters; of an encoder–decoder both, one below the other. */

import type { VNode } from "preact";
import { state } from "../../address/state.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";

/** Of a longer text only its first tokens are written. */
const [SHOWN, LARGE] = [36, 12];

export function Texts(): VNode {
  const { names } = useStore();
  const { sentence } = state.value;
  const { words } = names.run;
  const sides = (["inputs", "decoder_inputs"] as const).filter((side) => words[side].length > 0);
  return (
    <>
      {sides.map((side) => {
        const row = words[side][Math.min(sentence, words[side].length - 1)] ?? [];
        return (
          <p class="sentence texts" data-long={row.length > LARGE || sides.length > 1} key={side}>
            {sides.length > 1 && <span class="quiet">{side === "inputs" ? say`source` : say`target`}</span>}
            {row.slice(0, SHOWN).map((_, token) => {
              const { text, hidden } = names.word(side, sentence, token);
              return (
                <span class="word" data-hidden={hidden}>
                  {text}
                </span>
              );
            })}
            {row.length > SHOWN && <span class="quiet">{say`… ${row.length} tokens`}</span>}
          </p>
        );
      })}
    </>
  );
}
