/** The sentences that are learned: a click hides a word or shows it; below a hidden word, what the model guesses now. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { LONGEST } from "../../learn/choice.ts";
import { percent } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { again, front, hide, type Lesson, shown } from "./lesson.ts";

/** So many guesses stand below a hidden word. */
const GUESSES = 3;

export function Sentences({ now }: { now: Lesson }): VNode {
  const { choice } = now.learner.setup;
  const guesses = guessesOf(now);
  const sentence = front.value;
  const right = [...guesses].filter(([key, [best]]) => best?.[0] === wordAt(choice.sentences, key)).length;
  return (
    <section aria-label={say`sentences`} class="learned">
      <p class="quiet label">
        {say`Click a word to hide it, or to show it again. ${<b>{say`${right} of ${guesses.size}`}</b>} hidden words are guessed right.`}
      </p>
      {choice.sentences.map((words, row) => (
        <div class="learned-row" key={row} data-front={row === sentence}>
          <button
            type="button"
            class="front"
            hidden={choice.sentences.length === 1}
            aria-pressed={row === sentence}
            aria-label={say`sentence ${row} in front in the pictures`}
            onClick={() => {
              front.value = row;
            }}
          >
            {row}
          </button>
          {words.map((word, token) => {
            const found = guesses.get(`${row} ${token}`);
            return (
              <span class="learned-word" key={`${token} ${word}`}>
                <button
                  type="button"
                  aria-pressed={found !== undefined}
                  aria-label={found === undefined ? say`${word}, hide it` : say`${word}, hidden, show it`}
                  data-word={`${row}.${token}`}
                  onClick={() => hide(row, token)}
                >
                  {word}
                </button>
                {found !== undefined && (
                  <span class="guesses">
                    {found.map(([guess, share], order) => (
                      <span class="guess" data-right={guess === word} key={order}>
                        <i style={{ width: `${(100 * share).toFixed(1)}%` }} />
                        <span>
                          {guess === word ? <b>{guess}</b> : guess} {percent(share)}
                        </span>
                      </span>
                    ))}
                  </span>
                )}
              </span>
            );
          })}
        </div>
      ))}
      <Others now={now} />
    </section>
  );
}

function wordAt(sentences: readonly (readonly string[])[], key: string): string {
  const [row = 0, token = 0] = key.split(" ").map(Number);
  return sentences[row]?.[token] ?? "";
}

/** The likeliest words at each hidden place. */
function guessesOf(now: Lesson): Map<string, [word: string, share: number][]> {
  const { run } = now.names;
  const probabilities = shown(now).fetch("head.probabilities");
  const count = run.words.vocabulary.length;
  return new Map(
    run.places.map(([row, token], place) => {
      const shares = run.words.vocabulary.map((word, id): [string, number] => {
        return [word, probabilities?.data[place * count + id] ?? Number.NaN];
      });
      return [`${row} ${token}`, shares.sort((one, two) => two[1] - one[1]).slice(0, GUESSES)];
    }),
  );
}

/** Fields for the reader's own sentences. */
function Others({ now }: { now: Lesson }): VNode {
  const { choice } = now.learner.setup;
  const [texts, setTexts] = useState<readonly string[] | null>(null);
  const own = texts ?? choice.sentences.map((words) => words.join(" "));
  const learn = (event: Event): void => {
    event.preventDefault();
    const sentences = own.map((text) => text.trim().split(/\s+/).filter(Boolean));
    const hidden = sentences.map((words, row) => {
      const before = (choice.hidden[row] ?? []).filter((token) => token < words.length);
      return before.length > 0 ? before : [words.length - 1];
    });
    again({ sentences, hidden });
    setTexts(null);
  };
  return (
    <details class="twin">
      <summary>{say`write other sentences`}</summary>
      <form class="own-sentences" onSubmit={learn}>
        {own.map((text, row) => (
          <input
            type="text"
            key={row}
            value={text}
            aria-label={say`sentence ${row}`}
            onInput={(event) => {
              const { value } = event.currentTarget;
              setTexts(own.map((each, at) => (at === row ? value : each)));
            }}
          />
        ))}
        <p class="quiet">
          {say`Up to ${LONGEST} words each, with blanks between them. A word that the model does not know becomes one more row of its table, and the training begins again.`}
        </p>
        <button type="submit" class="act">
          {say`Learn these`}
        </button>
      </form>
    </details>
  );
}
