/** The words that were hidden, where they were given: each with its tokens, and the probability of each. */

import type { VNode } from "preact";
import { toNumber } from "../../address/links.ts";
import { at } from "../../numbers/safetensors.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import { useOpened, useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";

const NAME = "head.probabilities";

/** A share; the number itself where a share would be written as none. */
const written = (value: number): string => (value < 0.001 ? short(value) : percent(value));

export function Expected(): VNode | null {
  const store = useStore();
  const { names } = store;
  const expected = names.run.expected ?? [];
  const opened = useOpened(expected.length > 0 ? [NAME] : []);
  const tensor = opened ? store.fetch(NAME) : undefined;
  if (tensor === undefined || tensor.shape.length !== 2) return null;
  return (
    <>
      {expected.map(({ word, tokens }) => (
        <p class="under" key={word}>
          <span>{say`Hidden was ${<b class="hidden">{word}</b>}, ${counted(tokens.length, "token")}:`}</span>
          {tokens.map((cell) => (
            <a key={cell.join()} href={toNumber(NAME, [...cell], names)}>
              {names.label(NAME, "vocabulary", cell[1], 0).text} {written(at(tensor, [...cell]))}
            </a>
          ))}
        </p>
      ))}
    </>
  );
}
