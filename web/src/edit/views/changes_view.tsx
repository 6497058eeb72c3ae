/** The changes made by hand: a list in which each can be taken back, what they have changed, and the same as Python. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { readLater, state } from "../../address/state.ts";
import { type Names, unmarked } from "../../formulas/names.ts";
import { counted, grouped, short } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { type Change, same, type TextChange } from "../changes/changes.ts";
import { pythonOf } from "../changes/python.ts";
import { toldStep } from "../changes/told.ts";
import { compared, differing, takenBack, told, wordsOf } from "../changes/words.ts";
import { useSession } from "../session/context.ts";
import type { Session } from "../session/session.ts";

/** Longer texts are not compared word by word. */
const COMPARED = 300;

interface Entry {
  readonly text: string;
  /** The changes without this one. */
  readonly without: readonly Change[];
}

export function Changes(): VNode {
  const session = useSession();
  const { names } = useStore();
  const { entries, given } = readLater(() => {
    // Until another model is there, its changes would be described with the words of the one before.
    const changes = session.settled ? session.changes : [];
    return { entries: changes.flatMap((change) => entriesOf(change, changes, session, names)), given: session.given };
  });
  return (
    <div class="changes">
      {given !== "" && <p class="code">{given}</p>}
      {entries.length === 0 && given === "" && (
        <p class="quiet">{session.engine.why === "" ? say`None. Click a word, or a cell.` : say`None.`}</p>
      )}
      <ol aria-label={say`changes made by hand`}>
        {entries.map(({ text, without }) => (
          <li key={text}>
            <span>{text}</span>
            <button
              type="button"
              aria-label={say`take back: ${text}`}
              title={say`take back`}
              onClick={() => session.set(without)}
            >
              ×
            </button>
          </li>
        ))}
      </ol>
      {session.told.value.map((sentence) => (
        <p class="told" role="status" key={sentence}>
          {sentence}
        </p>
      ))}
      <SinceLine />
      {entries.length > 0 && (
        <p class="acts">
          <button type="button" onClick={() => session.undo()}>
            {say`Undo ${<kbd>u</kbd>}`}
          </button>
          <button type="button" onClick={() => session.set([])}>
            {say`Take all back`}
          </button>
        </p>
      )}
      <AsPython />
    </div>
  );
}

function entriesOf(change: Change, all: readonly Change[], session: Session, names: Names): Entry[] {
  const without = all.filter((each) => each !== change);
  if (change.kind !== "text") return [{ text: toldStep(change, names), without }];
  if (change.which === "target") {
    const read = names.run.words.decoder_inputs[change.row]?.map(unmarked).join(" ") ?? change.text;
    return [{ text: say`the decoder reads: ${read}`, without }];
  }
  const before = session.engine.texts(state.value.model, change.which)?.[change.row];
  const which = `${KINDS[change.which]} ${change.row + 1}: `;
  if (before === undefined) return [{ text: `${which}${change.text}`, without }];
  if (change.text.trim() === "") return [{ text: say`${which}left out`, without }];
  const [old, now] = [wordsOf(before), wordsOf(change.text)];
  if (Math.max(old.length, now.length) > COMPARED) return [{ text: say`${which}reads otherwise`, without }];
  const words = compared(old, now);
  const others = differing(words);
  // A text that has little left of what it was is one change, not many.
  if (others.length === 0 || others.length > Math.max(3, now.length / 2))
    return [{ text: `${which}${change.text}`, without }];
  return others.map((word) => {
    const text = takenBack(words, word);
    const back: TextChange = { ...change, text };
    return {
      text: `${which}${told(word)}`,
      without: text === before || others.length === 1 ? without : all.map((each) => (same(each, change) ? back : each)),
    };
  });
}

const KINDS = { text: say`text`, second: say`second text`, choice: say`candidate`, target: say`target` };

/** How many numbers the last change has changed, and which one most. */
function SinceLine(): VNode | null {
  const session = useSession();
  const { names } = useStore();
  const found = session.since.value;
  if (found === null) return null;
  const { changed, of, resized, largest } = found;
  const by = largest === null ? "" : `${largest.by > 0 ? "+" : ""}${short(largest.by)}`;
  return (
    <p class="since" role="status" data-changed={changed}>
      {changed === 0 && resized === 0 && say`The last change has changed no number.`}
      {largest !== null && (
        <>
          {largest.name.endsWith(".probabilities") ? say`Probability of ` : say`Most: `}
          <a href={toNumber(largest.name, largest.cell, names)}>{called(largest.name, largest.cell, names)}</a>:{" "}
          <b>{by}</b>.{" "}
        </>
      )}
      {changed > 0 && say`${grouped(changed)} of ${grouped(of)} numbers changed.`}
      {resized > 0 && say` ${counted(resized, "tensor")} of another size.`}
    </p>
  );
}

/** A number in the line of changes: a guess by its word and the word it is a guess at. */
function called(name: string, cell: readonly number[], names: Names): string {
  const guess = names.axes(name).join() === "place,vocabulary";
  const word = (axis: string, place: number): string => names.label(name, axis, cell[place] ?? 0, 0).text;
  if (guess) return say`“${word("vocabulary", 1)}” at the place of “${word("place", 0)}”`;
  return `${names.title(name)}, ${names.cell(name, cell)}`;
}

function AsPython(): VNode | null {
  const session = useSession();
  const { names } = useStore();
  const [copied, setCopied] = useState("");
  const code = readLater(({ tensor, cell }) => {
    const editing = names.run.editing ?? null;
    const texts = session.texts("text");
    if (editing === null || texts === null) return null;
    const steps = [...session.givenSteps, ...session.changes.filter((change) => change.kind !== "text")];
    const shown = names.formulas.has(tensor) ? { name: tensor, axes: names.axes(tensor), cell } : null;
    const [seconds, choices] = [session.texts("second"), session.texts("choice")];
    const targets = editing.target_ids ?? null;
    return pythonOf({ loads: editing.loads, texts, seconds, choices, targets, steps, shown });
  });
  if (code === null) return null;
  const copy = (): void => {
    void navigator.clipboard?.writeText(code).then(() => setCopied(code));
  };
  return (
    <details class="python">
      <summary>{say`As Python`}</summary>
      <Scroll label={say`this run as Python`}>
        <pre class="code">{code}</pre>
      </Scroll>
      <button type="button" onClick={copy}>
        {copied === code ? say`Copied` : say`Copy as Python`}
      </button>
    </details>
  );
}
