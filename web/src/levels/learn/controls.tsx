/** Play, step, rate, seed and the exercises. */

import type { VNode } from "preact";
import { EXERCISES, type Exercise } from "../../learn/choice.ts";
import {
  again,
  goTo,
  type Lesson,
  make,
  PACES,
  type Pace,
  pace,
  play,
  playing,
  setRate,
  still,
  tick,
} from "./lesson.ts";

/** What each exercise changes, in a few words, and what it asks. */
export const TITLES: Readonly<Record<Exercise, readonly [title: string, asks: string]>> = {
  letters: ["write letter by letter", "A second model, a decoder: it learns the lines and writes such ones itself."],
  "letters-norms": [
    "two blocks, with norms",
    "The same lines, with norms and a second residual: does it need fewer steps?",
  ],
  "letters-large": [
    "192,000 weights",
    "Four wide blocks: a step takes as long as some forty of the small model, and the rate is smaller.",
  ],
  slides: ["as in the slides", "Hidden words are zeroed, and nobody looks at them."],
  "nothing-hidden": ["nothing hidden", "The model reads the words that it has to guess. What is there left to learn?"],
  "no-positions": ["no positions", "Nothing tells the model where a word stands. Which guesses become the same?"],
  "one-head": ["one head", "The same 516 weights, read as one head of 8 numbers. Is two better?"],
  "zero-after": [
    "zeroed after adding positions",
    "A hidden word loses its position too: two hidden words of a sentence cannot be told apart any more.",
  ],
};

const PACE: Readonly<Record<Pace, string>> = {
  slow: "10 a second",
  steady: "100 a second",
  fast: "as fast as it goes",
};

export function Controls({ now }: { now: Lesson }): VNode {
  void tick.value;
  const { learner } = now;
  const { exercise } = learner.setup.choice;
  return (
    <>
      <section class="learn-controls" aria-label="training">
        <button type="button" class="act" onClick={play} aria-pressed={playing.value} data-do="play">
          {still() ? "100 steps" : playing.value ? "Pause" : "Play"}
        </button>
        <button type="button" class="act" onClick={() => make(1)} data-do="step">
          One step
        </button>
        <button type="button" class="act" onClick={() => goTo(0)} disabled={learner.step === 0} data-do="first">
          To the start
        </button>
        <label hidden={still()}>
          <span class="quiet">steps </span>
          <select
            aria-label="pace"
            onChange={(event) => {
              pace.value = event.currentTarget.value as Pace;
            }}
          >
            {(Object.keys(PACES) as Pace[]).map((each) => (
              <option key={each} value={each} selected={each === pace.value}>
                {PACE[each]}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="quiet">rate </span>
          <input
            key={learner.rate}
            type="text"
            inputMode="decimal"
            size={7}
            defaultValue={String(learner.rate)}
            aria-label="learning rate"
            onChange={(event) => setRate(Number(event.currentTarget.value))}
          />
        </label>
        <label>
          <span class="quiet">seed </span>
          <input
            type="number"
            min={0}
            max={9999}
            value={learner.seed}
            aria-label="seed of the first weights"
            onChange={(event) => again({ seed: Math.trunc(Number(event.currentTarget.value)) || 0 })}
          />
        </label>
      </section>
      <section class="exercises" aria-label="exercises">
        <span class="quiet">What if:</span>
        {EXERCISES.map((each) => (
          <>
            {each === "letters" && <span class="quiet">Or:</span>}
            <button
              type="button"
              key={each}
              aria-pressed={each === exercise}
              data-exercise={each}
              onClick={() => again({ exercise: each })}
            >
              {TITLES[each][0]}
            </button>
          </>
        ))}
        <p class="quiet">{TITLES[exercise][1]}</p>
      </section>
    </>
  );
}
