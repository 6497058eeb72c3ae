/** What is drawn, in numbers: a row for each record; without records one for each point of the curve. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { digits, percent, short } from "../../run/numbers.ts";
import { evaluatedAt, type Told } from "../../run/training.ts";

export function TrainingTable({ told }: { told: Told }): VNode {
  const [open, setOpen] = useState(false);
  return (
    <details class="twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>the same as a table</summary>
      {open && (
        <section class="scroll" tabIndex={0} aria-label="the training in numbers">
          {told.records.length > 0 ? <Records told={told} /> : <Points told={told} />}
        </section>
      )}
    </details>
  );
}

function Records({ told }: { told: Told }): VNode {
  const sentences = told.watched?.sentences ?? [];
  return (
    <table>
      <thead>
        <tr>
          <th>step</th>
          <th>loss</th>
          <th>held-out loss</th>
          <th>learning rate</th>
          {sentences.map(({ text, places }) => places.map((place) => <th>{`${text.split("\t")[0]}: ${place}`}</th>))}
        </tr>
      </thead>
      <tbody>
        {told.records.map((record) => (
          <tr key={record.step} data-record={record.step}>
            <th>{record.step.toLocaleString("en")}</th>
            <td>{record.loss === null ? "" : short(record.loss)}</td>
            <td>{numbered(evaluatedAt(told, record.step)?.["loss"])}</td>
            <td>{record.learning_rate === null ? "" : digits(record.learning_rate, "float32")}</td>
            {sentences.map(({ places }, index) =>
              places.map((_, place) => {
                const [guess] = record.sentences?.[index]?.places[place] ?? [];
                return (
                  <td>{guess === undefined ? "" : `${guess[0]} ${guess[1] === null ? "" : percent(guess[1])}`}</td>
                );
              }),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Points({ told }: { told: Told }): VNode {
  return (
    <table>
      <thead>
        <tr>
          <th>step</th>
          <th>loss</th>
          <th>held-out loss</th>
          <th>learning rate</th>
        </tr>
      </thead>
      <tbody>
        {told.curve.points.map(([step, loss, rate]) => (
          <tr key={step}>
            <th>{step.toLocaleString("en")}</th>
            <td>{short(loss)}</td>
            <td>{numbered(evaluatedAt(told, step)?.["loss"])}</td>
            <td>{short(rate)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function numbered(value: number | null | undefined): string {
  return value == null ? "" : short(value);
}
