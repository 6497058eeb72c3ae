/** The lines that the second model learns, and what it writes itself at the step in hand. */

import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { LONGEST_LINE, MOST_LINES } from "../../learn/choice.ts";
import { numbersFrom } from "../../learn/first_weights.ts";
import { Writer } from "../../learn/letters.ts";
import { say } from "../../words/say.ts";
import { again, front, type Lesson, shown } from "./lesson.ts";

/** So many lines are written. */
const WRITTEN = 12;

export function Lines({ now }: { now: Lesson }): VNode {
  const { setup } = now.learner;
  const lines = setup.choice.sentences.map((letters) => letters.join(""));
  const [temperature, setTemperature] = useState(1);
  const [draws, setDraws] = useState(0);
  const [text, setText] = useState<string | null>(null);
  const writer = useMemo(() => new Writer(now.base, setup), [setup]);
  const draw = numbersFrom(draws);
  const { weights } = shown(now);
  const written = Array.from({ length: WRITTEN }, () => writer.write(weights, draw, temperature));
  const known = written.filter((line) => lines.includes(line)).length;
  const learn = (event: Event): void => {
    event.preventDefault();
    const own = (text ?? lines.join("\n")).split("\n").map((line) => line.trim());
    again({ sentences: own.filter((line) => line !== "").map((line) => [...line]), hidden: [] });
    setText(null);
  };
  return (
    <section class="lines" aria-label={say`lines`}>
      <p class="quiet label">{say`It learns, a letter after the others of its line:`}</p>
      <p class="learned-row">
        {lines.map((line, row) => (
          <button
            type="button"
            key={line}
            class="undo"
            aria-pressed={row === front.value}
            onClick={() => {
              front.value = row;
            }}
          >
            {line}
          </button>
        ))}
      </p>
      <p class="quiet label">{say`It writes: ${<b>{say`${known} of ${WRITTEN}`}</b>} are lines that it learned.`}</p>
      <ul class="written">
        {written.map((line, place) => (
          <li key={place} data-known={lines.includes(line)}>
            {lines.includes(line) ? <b>{line}</b> : line === "" ? "–" : line}
          </li>
        ))}
      </ul>
      <p class="learn-controls">
        <label>
          <span class="quiet">{say`temperature`} </span>
          <input
            type="range"
            min={0.1}
            max={2}
            step={0.1}
            value={temperature}
            onInput={(event) => setTemperature(Number(event.currentTarget.value))}
          />{" "}
          {temperature.toFixed(1)}
        </label>
        <button type="button" class="undo" onClick={() => setDraws(draws + 1)}>
          {say`Draw again`}
        </button>
      </p>
      <details class="twin">
        <summary>{say`write other lines`}</summary>
        <form class="own-sentences" onSubmit={learn}>
          <textarea
            rows={MOST_LINES}
            aria-label={say`lines to learn`}
            value={text ?? lines.join("\n")}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <p class="quiet">
            {say`Up to ${MOST_LINES} lines of up to ${LONGEST_LINE} letters: names, words, what you like.`}
          </p>
          <button type="submit" class="act">
            {say`Learn these`}
          </button>
        </form>
      </details>
    </section>
  );
}
