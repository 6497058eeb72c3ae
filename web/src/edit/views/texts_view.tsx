/** In the rail: a field for each text of the sentence in front. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { later, readLater, state } from "../../address/state.ts";
import { say } from "../../words/say.ts";
import type { TextChange, Which } from "../changes/changes.ts";
import { withChange } from "../changes/changes.ts";
import { useSession } from "../session/context.ts";

/** The text in front, to be written anew, and its second text or candidates; one more text on a live page. */
export function TextFields(): VNode | null {
  const session = useSession();
  const [open, setOpen] = useState<"" | "edit" | "add">("");
  /** The changes with the text that was written last: where it is refused, the field stays open and says why. */
  const [made, setMade] = useState("");
  const { sentence } = later.value;
  const [texts, choices, seconds] = readLater(() => {
    return [session.texts("text"), session.texts("choice"), session.texts("second")] as const;
  });
  if (texts === null) return null;
  const live = session.engine.offers.length > 0;
  const row = open === "add" ? texts.length : choices === null ? Math.max(0, Math.min(sentence, texts.length - 1)) : 0;
  const fields: [Which, number, string][] = [["text", row, texts[row] ?? ""]];
  if (seconds !== null) fields.push(["second", row, seconds[row] ?? ""]);
  choices?.forEach((choice, at) => {
    fields.push(["choice", at, choice]);
  });
  const refused = session.told.value.length > 0 && made !== "" && made === later.value.changes;
  if (open === "" && !refused) {
    return (
      <p class="acts">
        <button type="button" onClick={() => setOpen("edit")}>
          {say`Write another text`}
        </button>
        {live && choices === null && (
          <button type="button" onClick={() => setOpen("add")}>
            {say`One more text`}
          </button>
        )}
      </p>
    );
  }
  const done = (written: readonly TextChange[]): void => {
    setOpen("");
    const others = written
      .filter(({ text }, at) => text !== fields[at]?.[2])
      .map((change) => ({ ...change, row: session.row(change.which, change.row) }));
    if (others.length > 0) session.set(others.reduce((all, change) => withChange(all, change), session.changes));
    setMade(state.peek().changes);
  };
  const leave = (): void => {
    setOpen("");
    setMade("");
  };
  return (
    <>
      <Form key={`${open}${made}`} fields={fields} onDone={done} onLeave={leave} />
      {refused && session.told.value.map((sentence) => <p class="told">{sentence}</p>)}
    </>
  );
}

const NAMES = { text: say`text`, second: say`second text`, choice: say`candidate`, target: say`target` };

function Form(props: {
  fields: readonly [Which, number, string][];
  onDone: (changes: readonly TextChange[]) => void;
  onLeave: () => void;
}): VNode {
  const { fields, onDone, onLeave } = props;
  const [written, setWritten] = useState(() => fields.map(([, , text]) => text));
  const apply = (): void =>
    onDone(fields.map(([which, row], at) => ({ kind: "text", which, row, text: written[at] ?? "" })));
  return (
    <form
      class="write"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      {fields.map(([which, row], at) => (
        <label key={`${which} ${row}`}>
          <span class="quiet">{`${NAMES[which]}${which === "choice" ? ` ${row + 1}` : ""}`}</span>
          <textarea
            rows={3}
            dir="auto"
            ref={(element) => {
              if (at === 0 && element !== null && element.dataset["met"] === undefined) {
                element.dataset["met"] = "";
                element.focus();
              }
            }}
            value={written[at]}
            onInput={(event) => setWritten(written.with(at, event.currentTarget.value))}
            onKeyDown={(event) => {
              event.stopPropagation();
              if (event.key === "Escape") onLeave();
              if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                event.preventDefault();
                apply();
              }
            }}
          />
        </label>
      ))}
      <p class="acts">
        <button type="submit">{say`Run ${<kbd>{say`Enter`}</kbd>}`}</button>
        <button type="button" onClick={onLeave}>
          {say`Leave`}
        </button>
      </p>
    </form>
  );
}
