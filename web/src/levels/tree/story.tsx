/** A text by its tokens, each with a bar for how much the step in hand looks at it; and the turns of a conversation. */

import type { VNode } from "preact";
import { state } from "../../address/state.ts";
import { written } from "../../numbers/letters.ts";
import type { Side } from "../../record/record.ts";
import { useStore } from "../../views/hooks.ts";

/** How a blank of a token is written. */
const BLANK = "▁";
/** A token that stands for no letters, as that of a beginning. */
const MARK = /^[<[].*[>\]]$/;

export interface TokensProps {
  readonly side: Side;
  /** The token that was read last. */
  readonly step: number;
  /** So many tokens were given; the others were written. */
  readonly given: number;
  /** What comes later is not shown, but keeps its place. */
  readonly hides?: boolean;
  readonly share?: ((token: number) => number) | undefined;
  /** A token was chosen; left out: they cannot be. */
  onGo?(token: number): void;
}

export function Tokens({ side, step, given, hides = false, share, onGo }: TokensProps): VNode {
  const { names } = useStore();
  const { sentence } = state.value;
  const words = names.run.words[side][sentence] ?? [];
  // Where blanks are parts of tokens, the tokens of one word stand together.
  const blanks = words.some((word) => word.startsWith(BLANK));
  const most = share === undefined ? 1 : Math.max(...words.slice(0, step + 1).map((_, token) => share(token)), 1e-9);
  return (
    <>
      {words.map((word, token) => {
        const { text } = names.word(side, sentence, token);
        const where = token < step ? "before" : token === step ? "now" : hides ? "hidden" : "later";
        const seen = share === undefined || token > step ? 0 : share(token);
        const facts = {
          "data-where": where,
          "data-given": token < given,
          "data-glued": blanks && token > 0 && !word.startsWith(BLANK) && !MARK.test(words[token - 1] ?? ""),
          style: { "--share": String(seen / most) },
          children: <bdi>{text}</bdi>,
        };
        if (onGo === undefined) return <span key={token} {...facts} />;
        return (
          <button type="button" key={token} {...facts} onClick={() => onGo(token)} aria-current={token === step} />
        );
      })}
    </>
  );
}

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
