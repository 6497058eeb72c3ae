/** On a live page: a prompt, or a turn of a conversation, after which the model writes at once. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { state } from "../../../address/state.ts";
import { useSession } from "../../../edit/session/context.ts";
import { say } from "../../../words/say.ts";
import { type Written, withOption, writing } from "../written/options.ts";
import type { Search } from "../written/search.ts";
import { isByHand, TAKEN_BACK, write } from "./rewriting.ts";

const WORDS: Readonly<Record<Written, readonly [label: string, button: string]>> = {
  text: [say`begin with`, say`write`],
  reply: [say`your turn`, say`reply`],
  translation: [say`translate`, say`translate`],
};

export function Writer(props: {
  readonly written: Written;
  readonly search: Search | null;
  /** Whether what was written last is still waited for: a turn follows it. */
  readonly waits: boolean;
}): VNode {
  const { written, search, waits } = props;
  const session = useSession();
  const { sentence } = state.value;
  const chats = written === "reply";
  const [typed, setTyped] = useState<string | null>(null);
  const now = session.text("text", sentence) ?? "";
  const text = typed ?? (chats ? "" : now);
  const before = search === null || search.record.answers.length === 0 ? [] : [now, search.record.answer.trim()];
  const { busy, wrong, again } = writing.value;
  const begin = async (whole: string): Promise<void> => {
    if (await write(session, { text: whole, options: withOption("begins", ""), plays: true })) setTyped(null);
  };
  const [label, button] = WORDS[written];
  return (
    <form
      class="writer"
      onSubmit={(event) => {
        event.preventDefault();
        void begin(chats && before.length > 0 ? [...before, text].join("\n") : text);
      }}
    >
      <label>
        {label}
        <input
          type="text"
          value={text}
          maxLength={2000}
          onInput={(event) => setTyped(event.currentTarget.value)}
          placeholder={chats ? "Hi how are you" : ""}
        />
      </label>
      <button type="submit" class="strong" disabled={chats && (text.trim() === "" || waits)}>
        {button}
      </button>
      {chats && before.length > 0 && (
        <button type="button" disabled={text.trim() === ""} onClick={() => void begin(text)}>
          {say`as a new conversation`}
        </button>
      )}
      <output class="quiet">{busy ? say`Writing …` : ""}</output>
      {wrong !== "" && !(wrong === TAKEN_BACK && isByHand(session)) && (
        <p class="wrong" role="alert">
          {wrong}{" "}
          {again !== null && (
            <button type="button" onClick={again}>
              {say`Try again`}
            </button>
          )}
        </p>
      )}
    </form>
  );
}
