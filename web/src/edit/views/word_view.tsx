/** One word of the sentence in large letters: pressed, it becomes a field in which another word is written. */

import { untracked } from "@preact/signals";
import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Side } from "../../record/record.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import { useSession } from "../session/context.ts";
import { completions, type Edit, edited, standsInText, targetOf, tokenChange } from "./target.ts";

export function Word({ side, sentence, token }: { side: Side; sentence: number; token: number }): VNode {
  const session = useSession();
  const { names } = useStore();
  const [mode, setMode] = useState<"" | "word" | "after">("");
  const button = useRef<HTMLButtonElement>(null);
  const label = names.word(side, sentence, token);
  // A word does not follow the address, in which the cell in hand changes with each key.
  const can = session.engine.words === "token" || untracked(() => standsInText(session, names, side, sentence, token));
  if (!can || session.engine.why !== "") return <span class="word">{label.text}</span>;
  const leave = (): void => {
    setMode("");
    setTimeout(() => button.current?.focus());
  };
  const make = (edit: Edit): void => {
    leave();
    const target = targetOf(session, names, side, sentence, token);
    const change = target === null ? tokenChange(names, side, sentence, token, edit) : edited(target, edit);
    if (typeof change === "string") session.told.value = [change];
    else session.add(change);
  };
  if (mode !== "") {
    const target = untracked(() => targetOf(session, names, side, sentence, token));
    const own = target?.text.slice(target.start, target.end) ?? label.text;
    const first = mode === "after" ? "" : label.hidden ? label.text : own;
    return (
      <Field
        key={mode}
        first={first}
        texts={target !== null}
        masked={label.hidden}
        onLeave={leave}
        onEdit={make}
        onAfter={() => setMode("after")}
        after={mode === "after"}
      />
    );
  }
  return (
    <button
      type="button"
      ref={button}
      class="word"
      title={say`change “${label.text}”`}
      aria-label={say`${label.text}${label.hidden ? say`, hidden from the model` : ""}: change this word`}
      onClick={() => setMode("word")}
    >
      {label.text}
    </button>
  );
}

/** So many words of the vocabulary are offered while one is typed. */
const OFFERED = 8;

function Field(props: {
  first: string;
  after: boolean;
  texts: boolean;
  masked: boolean;
  onEdit: (edit: Edit) => void;
  onAfter: () => void;
  onLeave: () => void;
}): VNode {
  const { first, after, texts, masked, onEdit, onAfter, onLeave } = props;
  const { names } = useStore();
  const [typed, setTyped] = useState(first);
  const begun = typed === first ? "" : typed.trim();
  const offered = completions(names.run.words.vocabulary, begun, OFFERED).filter((word) => word !== first);
  const met = useRef(false);
  const apply = (): void => {
    const word = typed.trim();
    if (word === "" && (after || !texts)) onLeave();
    else if (word === "") onEdit({ kind: "out" });
    else if (after) onEdit({ kind: "after", word });
    else if (word === first && !masked) onLeave();
    else onEdit({ kind: "word", word });
  };
  return (
    <form
      class="writing"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Escape") onLeave();
      }}
    >
      <input
        class="word"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-label={after ? say`a word to put in here` : say`in place of ${first}`}
        value={typed}
        size={Math.max(4, typed.length)}
        ref={(element) => {
          if (element === null || met.current) return;
          met.current = true;
          element.focus();
          element.select();
        }}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <span class="acts">
        <button type="submit">{after ? say`Put in` : masked ? say`Show it` : say`Change`}</button>
        {!after && !masked && (
          <button type="button" onClick={() => onEdit({ kind: "mask" })}>
            {say`Mask`}
          </button>
        )}
        {!after && texts && (
          <>
            <button type="button" onClick={() => onEdit({ kind: "out" })}>
              {say`Leave out`}
            </button>
            <button type="button" onClick={onAfter}>
              {say`Word after`}
            </button>
          </>
        )}
        <button type="button" onClick={onLeave} aria-label={say`leave the word as it is`}>
          ×
        </button>
        {offered.map((word) => (
          <button
            type="button"
            class="offered"
            key={word}
            onClick={() => onEdit({ kind: after ? "after" : "word", word })}
          >
            {word}
          </button>
        ))}
      </span>
    </form>
  );
}
