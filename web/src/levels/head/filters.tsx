/** What of a text is shown: words instead of tokens, without its marks, and of a pair which sentence looks at which. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go, state } from "../../address/state.ts";
import { Choice, type Option } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { type Options, optionsIn, switched } from "./options.ts";
import { segmentsOf, type Text, tokensOf, wordsOf } from "./units.ts";

type Flag = keyof Options;

const SENTENCES: readonly Option[] = [
  ["null", say`both sentences`],
  [0, say`the first`],
  [1, say`the second`],
];

/** `more`: what else can be switched. Nothing is offered that this text has not. */
export function Filters(props: {
  readonly text: Text;
  readonly more?: readonly (readonly [Flag, string])[];
  readonly pair?: boolean;
}): VNode {
  const { text, more = [], pair = true } = props;
  const found = useMemo(() => {
    const tokens = tokensOf(text);
    return {
      joined: wordsOf(text, tokens).length < tokens.length,
      marked: tokens.some((token) => token.mark),
      pair: pair && segmentsOf(text) !== null,
    };
  }, [text.names, text.side, text.sentence, text.fetch(`${text.side}.real`), text.fetch(`${text.side}.segments`)]);
  const options = optionsIn(state.value.show);
  const flags: (readonly [Flag, string])[] = [];
  if (options.words || found.joined) flags.push(["words", say`words instead of tokens`]);
  if (options.bare || found.marked) flags.push(["bare", say`hide marks and padding`]);
  return (
    <div class="flags">
      {[...flags, ...more].map(([name, words]) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={options[name] === true}
            onChange={() => go({ show: options[name] === true ? switched([name], []) : switched([], [name]) }, true)}
          />
          {words}
        </label>
      ))}
      {found.pair &&
        (["from", "to"] as const).map((side) => (
          <Choice
            key={side}
            label={side === "from" ? say`looks` : say`is looked at`}
            value={String(options[side])}
            of={SENTENCES}
            onChoose={(chosen) => {
              go({ show: switched([`${side}-0`, `${side}-1`], chosen === "null" ? [] : [`${side}-${chosen}`]) }, true);
            }}
          />
        ))}
    </div>
  );
}
