/** What the model answered about the watched sentences, at the steps that are looked at. */

import type { VNode } from "preact";
import { grouped, percent } from "../../numbers/written.ts";
import type { Answered, Guess, Record, Sentence } from "../../run/training.ts";
import { heard, say } from "../../words/say.ts";

export interface Column {
  readonly name: string;
  readonly record: Record;
}

/** One sentence with a column of guesses for each step. */
export function Guesses({
  sentence,
  index,
  columns,
}: {
  sentence: Sentence;
  index: number;
  columns: readonly Column[];
}): VNode {
  const [, ...behind] = sentence.text.split("\t");
  return (
    <section class="watched">
      <h2>
        <Words sentence={sentence} />
      </h2>
      {behind.map((text) => (
        <p class="quiet">{text}</p>
      ))}
      <div class="columns">
        {columns.map(({ name, record }) => {
          const answered = record.sentences?.[index];
          return (
            <div key={name} class="column" data-step={record.step}>
              {columns.length > 1 && <p class="label">{say`${name}step ${grouped(record.step)}`}</p>}
              {answered === undefined ? (
                <p class="wrong">{(record.wrong && heard(record.wrong)) ?? say`nothing was kept of this step`}</p>
              ) : (
                <Places sentence={sentence} answered={answered} />
              )}
            </div>
          );
        })}
      </div>
    </section>
  );
}

/** The sentence, with its hidden words in red. */
export function Words({ sentence }: { sentence: Sentence }): VNode {
  const text = sentence.text.split("\t")[0] ?? "";
  const parts = sentence.hidden.length === 0 ? [text] : text.split(/(\[MASK\])/);
  return <>{parts.map((part) => (part === "[MASK]" ? <span class="masked">{part}</span> : part))}</>;
}

function Places({ sentence, answered }: { sentence: Sentence; answered: Answered }): VNode {
  const alone = answered.places.every((place) => place.length < 2);
  return (
    <>
      {(alone || answered.places.length > 1) && answered.says !== "" && <p class="says-now">{answered.says}</p>}
      {alone ? (
        <ol class="ranked">
          {answered.places.map(([guess], place) => {
            const name = sentence.places[place] ?? "";
            return guess === undefined ? null : <Line key={place} guess={guess} before={name} />;
          })}
        </ol>
      ) : (
        answered.places.map((guesses, place) => (
          <div key={place}>
            {answered.places.length > 1 && <p class="label">{sentence.places[place]}</p>}
            <ol class="ranked">
              {guesses.map((guess, rank) => (
                <Line key={rank} guess={guess} before="" />
              ))}
            </ol>
          </div>
        ))
      )}
    </>
  );
}

/** A guess, a bar as long as its probability, and the probability in digits. */
function Line({ guess: [text, probability], before }: { guess: Guess; before: string }): VNode {
  return (
    <li>
      <span class="guess" title={text}>
        {before !== "" && before !== text ? `${before} ` : ""}
        {before === "" || before === text ? text : <b>{text}</b>}
      </span>
      <span class="amount" aria-hidden="true">
        {probability !== null && <i style={{ width: `${(100 * probability).toFixed(2)}%` }} />}
      </span>
      <span class="digits" data-value={probability === null ? "" : String(probability)}>
        {probability === null ? "" : percent(probability)}
      </span>
    </li>
  );
}
