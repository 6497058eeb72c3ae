/** Play, step, rate, seed and the exercises. */

import type { VNode } from "preact";
import { EXERCISES, type Exercise } from "../../learn/choice.ts";
import { say } from "../../words/say.ts";
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
  letters: [
    say`write letter by letter`,
    say`A second model, a decoder: it learns the lines and writes such ones itself.`,
  ],
  "letters-norms": [
    say`two blocks, with norms`,
    say`The same lines, with norms and a second residual: does it need fewer steps?`,
  ],
  "letters-large": [
    say`192,000 weights`,
    say`Four wide blocks: a step takes as long as some forty of the small model, and the rate is smaller.`,
  ],
  slides: [say`as in the slides`, say`Hidden words are zeroed, and nobody looks at them.`],
  "nothing-hidden": [
    say`nothing hidden`,
    say`The model reads the words that it has to guess. What is there left to learn?`,
  ],
  "no-positions": [say`no positions`, say`Nothing tells the model where a word stands. Which guesses become the same?`],
  "one-head": [say`one head`, say`The same 516 weights, read as one head of 8 numbers. Is two better?`],
  "zero-after": [
    say`zeroed after adding positions`,
    say`A hidden word loses its position too: two hidden words of a sentence cannot be told apart any more.`,
  ],
};

const PACE: Readonly<Record<Pace, string>> = {
  slow: say`10 a second`,
  steady: say`100 a second`,
  fast: say`as fast as it goes`,
};

export function Controls({ now }: { now: Lesson }): VNode {
  void tick.value;
  const { learner } = now;
  const { exercise } = learner.setup.choice;
  return (
    <>
      <section class="learn-controls" aria-label={say`training`}>
        <button type="button" class="act" onClick={play} aria-pressed={playing.value} data-do="play">
          {still() ? say`100 steps` : playing.value ? say`Pause` : say`Play`}
        </button>
        <button type="button" class="act" onClick={() => make(1)} data-do="step">
          {say`One step`}
        </button>
        <button type="button" class="act" onClick={() => goTo(0)} disabled={learner.step === 0} data-do="first">
          {say`To the start`}
        </button>
        <label hidden={still()}>
          <span class="quiet">{say`steps`} </span>
          <select
            aria-label={say`pace`}
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
          <span class="quiet">{say`learning rate`} </span>
          <input
            key={learner.rate}
            type="text"
            inputMode="decimal"
            size={7}
            defaultValue={String(learner.rate)}
            aria-label={say`learning rate`}
            onChange={(event) => setRate(Number(event.currentTarget.value.replace(",", ".")))}
          />
        </label>
        <label>
          <span class="quiet">{say`random seed`} </span>
          <input
            type="number"
            min={0}
            max={9999}
            value={learner.seed}
            aria-label={say`seed of the first weights`}
            onChange={(event) =>
              again({ seed: Math.min(Math.max(Math.trunc(Number(event.currentTarget.value)) || 0, 0), 9999) })
            }
          />
        </label>
      </section>
      <section class="exercises" aria-label={say`exercises`}>
        <span class="quiet">{say`What if:`}</span>
        {EXERCISES.map((each) => (
          <>
            {each === "letters" && <span class="quiet">{say`Or:`}</span>}
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
