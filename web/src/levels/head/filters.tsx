/** What of a text is shown: words instead of tokens, without its marks, and of a pair which sentence looks at which. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go, state } from "../../frame/state.ts";
import { type Options, optionsIn, switched } from "./options.ts";
import { segmentsOf, type Text, tokensOf, wordsOf } from "./units.ts";

type Flag = keyof Options;

/** `more`: what else can be switched. Nothing is offered that this text has not. */
export function Filters({ text, more = [] }: { text: Text; more?: readonly (readonly [Flag, string])[] }): VNode {
  const found = useMemo(() => {
    const tokens = tokensOf(text);
    return {
      joined: wordsOf(text, tokens).length < tokens.length,
      marked: tokens.some((token) => token.mark),
      pair: segmentsOf(text) !== null,
    };
  }, [text.names, text.side, text.sentence, text.fetch(`${text.side}.real`), text.fetch(`${text.side}.segments`)]);
  const options = optionsIn(state.value.show);
  const flags: (readonly [Flag, string])[] = [];
  if (options.words || found.joined) flags.push(["words", "words instead of tokens"]);
  if (options.bare || found.marked) flags.push(["bare", "hide marks and padding"]);
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
          <label key={side}>
            {side === "from" ? "looks" : "is looked at"}
            <select
              value={String(options[side])}
              onChange={(event) => {
                const chosen = event.currentTarget.value;
                const both = [`${side}-0`, `${side}-1`];
                go({ show: switched(both, chosen === "null" ? [] : [`${side}-${chosen}`]) }, true);
              }}
            >
              <option value="null">both sentences</option>
              <option value="0">the first</option>
              <option value="1">the second</option>
            </select>
          </label>
        ))}
    </div>
  );
}
