/** What is drawn, in numbers: a row for each record; without records one for each point of the curve. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { grouped, percent, short } from "../../numbers/written.ts";
import { evaluatedAt, type Record, type Told } from "../../run/training.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";

export function TrainingTable({ told }: { told: Told }): VNode {
  const [open, setOpen] = useState(false);
  const points = told.curve.points.map(([step, loss, rate]): Partial<Record> & { step: number } => {
    return { step, loss, learning_rate: rate };
  });
  const rows: readonly (Partial<Record> & { step: number })[] = told.records.length > 0 ? told.records : points;
  const places = (told.watched?.sentences ?? []).flatMap(({ text, places }, index) => {
    return places.map((name, place) => ({ name: `${text.split("\t")[0]}: ${name}`, index, place }));
  });
  const number = (value: number | null | undefined): string => (value == null ? "" : short(value, 4));
  return (
    <details class="twin" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say`the same as a table`}</summary>
      {open && (
        <Scroll label={say`the training in numbers`}>
          <table>
            <thead>
              <tr>
                {[say`step`, say`loss`, say`held-out loss`, say`learning rate`, ...places.map(({ name }) => name)].map(
                  (name) => (
                    <th>{name}</th>
                  ),
                )}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ step, loss, learning_rate, sentences }) => (
                <tr key={step} data-record={step}>
                  <th>{grouped(step)}</th>
                  <td>{number(loss)}</td>
                  <td>{number(evaluatedAt(told, step)?.["loss"])}</td>
                  <td>{number(learning_rate)}</td>
                  {places.map(({ index, place }) => {
                    const [text, share] = sentences?.[index]?.places[place]?.[0] ?? ["", null];
                    return <td>{share === null ? text : `${text} ${percent(share)}`}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </details>
  );
}
