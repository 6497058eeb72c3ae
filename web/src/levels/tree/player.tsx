/** Goes through what was written: by itself, step by step, by a slider and by keys. */

import type { VNode } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { go } from "../../address/state.ts";
import { plain } from "../../views/plain.ts";
import { say } from "../../words/say.ts";
import { isStill, option, playing, withOption } from "./written/options.ts";

/** Tokens in a second. */
const SPEEDS = ["0.5", "1", "2", "4", "8"];
const USUAL = "2";

export interface PlayerProps {
  readonly step: number;
  readonly count: number;
  /** The first step after what was given: playing begins there. */
  readonly first: number;
  /** Whether the text is known to have been written here: then what comes later is hidden until it is asked for. */
  readonly written: boolean;
  /** Whether playing may go on: while the run of what was written is made, it waits. */
  readonly ready: boolean;
  /** What the step in hand follows. */
  readonly behind: string;
  to(step: number): void;
  /** Has what is played made first; left out: it is there. */
  prepare?: (() => void) | undefined;
  /** The text of another branch, above or below. */
  other(by: number): void;
}

function chosenSpeed(): string {
  return SPEEDS.includes(option("speed")) ? option("speed") : USUAL;
}

export function Player({ step, count, first, written, ready, behind, to, prepare, other }: PlayerProps): VNode {
  const speed = chosenSpeed();
  const still = isStill();
  const last = count - 1;
  useEffect(() => {
    if (!playing.value || !ready) return;
    if (step >= last) {
      playing.value = false;
      return;
    }
    const timer = setTimeout(() => to(step + 1), 1000 / Number(speed));
    return () => clearTimeout(timer);
  }, [playing.value, ready, step, last, speed]);
  const play = (): void => {
    // Where the system asks for less motion, all is there at once.
    if (prepare !== undefined) prepare();
    else if (still) to(last);
    else {
      if (!playing.value && step >= last) to(first);
      playing.value = !playing.value;
    }
  };
  const faster = (by: number): void => {
    const next = SPEEDS[SPEEDS.indexOf(chosenSpeed()) + by]; // of now: keys may come before the page is drawn again
    if (next !== undefined) go({ options: withOption("speed", next) }, true);
  };
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (!plain(event)) return;
      const target = event.target as HTMLElement;
      if (target.closest("canvas, select, textarea, summary, input") !== null) return;
      if (event.key === " " && target.closest("button, a") !== null) return;
      const next = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: first, End: last }[event.key];
      if (next !== undefined) {
        playing.value = false;
        to(next);
      } else if (event.key === " ") play();
      else if (event.key === "ArrowUp" || event.key === "ArrowDown") other(event.key === "ArrowUp" ? -1 : 1);
      else if (event.key === "+" || event.key === "-") faster(event.key === "+" ? 1 : -1);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  const one = (by: number): void => {
    playing.value = false;
    to(step + by);
  };
  return (
    <div class="step-slider">
      <button type="button" class="play" onClick={play} aria-pressed={playing.value}>
        {still ? say`to the end` : playing.value ? say`pause` : say`play`}
      </button>
      <label>
        <span>{say`step ${step + 1} of ${count}`}</span>
        <input
          type="range"
          min={1}
          max={count}
          value={step + 1}
          aria-valuetext={say`step ${step + 1}: behind ${behind}`}
          onInput={(event) => {
            playing.value = false;
            to(Number(event.currentTarget.value) - 1);
          }}
        />
      </label>
      <button type="button" aria-label={say`one step back`} disabled={step === 0} onClick={() => one(-1)}>
        ◀
      </button>
      <button type="button" aria-label={say`one step on`} disabled={step === last} onClick={() => one(1)}>
        ▶
      </button>
      <label class="speed">
        {say`speed`}
        <select
          value={speed}
          onChange={(event) => go({ options: withOption("speed", event.currentTarget.value) }, true)}
        >
          {SPEEDS.map((each) => (
            <option value={each} key={each}>
              {say`${each} a second`}
            </option>
          ))}
        </select>
      </label>
      {written && (
        <label class="whole">
          <input
            type="checkbox"
            checked={option("whole") === "1"}
            onChange={(event) => go({ options: withOption("whole", event.currentTarget.checked ? "1" : "") }, true)}
          />
          {say`what comes later`}
        </label>
      )}
    </div>
  );
}
