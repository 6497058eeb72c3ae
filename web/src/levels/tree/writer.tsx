/** On a live page: a prompt, or a turn of a conversation, behind which the model writes at once. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { go, state } from "../../address/state.ts";
import { useSession } from "../../edit/session/context.ts";
import type { Session } from "../../edit/session/session.ts";
import { HttpSource } from "../../sources/http_source.ts";
import { useStore } from "../../views/hooks.ts";
import { playing, searchFor, type Written } from "./held.ts";
import type { Search } from "./search.ts";

/** Resolves when the run that was asked for last is shown. */
function shown({ busy }: Session): Promise<void> {
  return new Promise((resolve) => {
    const stop = busy.subscribe((now) => {
      if (now !== null) return;
      resolve();
      queueMicrotask(() => stop());
    });
  });
}

export function Writer(props: {
  readonly written: Written;
  readonly search: Search | null;
  /** Whether what was written last is still waited for: a turn stands behind it. */
  readonly waits: boolean;
}): VNode | null {
  const { written, search, waits } = props;
  const { source } = useStore();
  const session = useSession();
  const { sentence } = state.value;
  const chats = written === "reply";
  const [typed, setTyped] = useState<string | null>(null);
  const [told, setTold] = useState("");
  if (!(source instanceof HttpSource)) return null;
  const now = session.text("text", sentence) ?? "";
  const text = typed ?? (chats ? "" : now);
  const before = search === null || search.record.answers.length === 0 ? [] : [now, search.record.answer.trim()];
  const write = async (whole: string): Promise<void> => {
    setTold("Writing …");
    try {
      const found = await searchFor(source, whole);
      const last = found.node(found.record.answers[0]);
      const read = { kind: "text", which: "text", row: sentence, text: found.record.text } as const;
      const ids = last === undefined ? found.record.prompt : found.readWhole(last);
      session.set([read, { kind: "text", which: "target", row: sentence, text: ids.join(" ") }]);
      await shown(session);
      setTyped(null);
      setTold("");
      go({ level: "tree", picture: "words", at: [found.record.prompt.length - 1] });
      playing.value = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    } catch (error) {
      setTold(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <form
      class="writer"
      onSubmit={(event) => {
        event.preventDefault();
        void write(chats && before.length > 0 ? [...before, text].join("\n") : text);
      }}
    >
      <label>
        {chats ? "your turn" : "begin with"}
        <input
          type="text"
          value={text}
          maxLength={2000}
          onInput={(event) => setTyped(event.currentTarget.value)}
          placeholder={chats ? "Hi how are you" : ""}
        />
      </label>
      <button type="submit" class="strong" disabled={chats && (text.trim() === "" || waits)}>
        {chats ? "reply" : "write"}
      </button>
      {chats && before.length > 0 && (
        <button type="button" disabled={text.trim() === ""} onClick={() => void write(text)}>
          as a new conversation
        </button>
      )}
      <output class="quiet">{told}</output>
    </form>
  );
}
