/** A tour as slides: large type, led by keys alone, with notes next to the slide for whoever presents it. */

import type { ComponentChildren, VNode } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { go, state } from "../address/state.ts";
import { say } from "../words/say.ts";

/** Keys that lead to another step: those of a remote control are among them. */
const BY: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  PageDown: 1,
  " ": 1,
  ArrowLeft: -1,
  PageUp: -1,
};

/** With the notes, as it begins. */
export function present(): void {
  go({ present: "notes" });
}

/** While a tour is presented, arrow keys lead through it instead of through a picture. */
export function usePresenterKeys(to: (by: number) => void): void {
  const shown = state.value.present;
  useLayoutEffect(() => {
    if (shown === "") return;
    const pressed = (event: KeyboardEvent): void => {
      const held = event.ctrlKey || event.metaKey || event.altKey;
      if (held || document.querySelector("dialog[open]") !== null) return;
      const by = BY[event.key];
      if (by !== undefined) to(by);
      else if (event.key === "o") go({ present: shown === "notes" ? "slide" : "notes" }, true);
      else if (event.key === "Escape") go({ present: "" }, true);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    addEventListener("keydown", pressed, true);
    return () => removeEventListener("keydown", pressed, true);
  }, [shown, to]);
}

/** What stands below the slide: where it is, and the keys. */
export function PresenterLine({ at, of }: { at: number; of: number }): VNode {
  return (
    <p class="present-line">
      <b>{say`${at} of ${of}`}</b>
      <span>{say`${<kbd>←</kbd>} ${<kbd>→</kbd>} step`}</span>
      <span>{say`${<kbd>a</kbd>} answer`}</span>
      <span>{say`${<kbd>o</kbd>} notes`}</span>
      <button type="button" onClick={() => go({ present: "" }, true)}>
        {say`${<kbd>{say`Esc`}</kbd>} leave`}
      </button>
    </p>
  );
}

export interface Note {
  readonly label: string;
  readonly text: ComponentChildren;
}

/** What is said and asked at this slide, for the one who presents it. */
export function Notes({ notes }: { notes: readonly Note[] }): VNode {
  return (
    <aside class="present-notes" aria-label={say`notes`}>
      <h2 class="away">{say`Notes`}</h2>
      {notes.map(({ label, text }) => (
        <div key={label}>
          <p class="label">{label}</p>
          <p>{text}</p>
        </div>
      ))}
    </aside>
  );
}
