/** Beside the picture: the numbers of the step in hand, and those of the steps that are kept. */

import type { VNode } from "preact";
import { state } from "../../address/state.ts";
import { grouped, short } from "../../numbers/written.ts";
import { evaluatedAt, type Told } from "../../run/training.ts";
import { say } from "../../words/say.ts";
import { columnsOf } from "./followed.ts";

export function Numbers({ told }: { told: Told }): VNode | null {
  const columns = columnsOf(told.records, state.value);
  if (columns.length === 0) return null;
  return (
    <>
      {columns.map(({ name, record }) => {
        const evaluated = evaluatedAt(told, record.step);
        const facts: [string, string, number | null | undefined][] = [
          [say`loss of this step`, "loss", record.loss],
          [say`its running mean`, "mean", record.mean],
          [say`learning rate`, "rate", record.learning_rate],
          [say`epoch`, say`epoch`, record.epoch],
        ];
        const scores = Object.entries(evaluated ?? {}).filter(([score, value]) => {
          return score !== "step" && !/targets|rows/.test(score) && typeof value === "number";
        });
        return (
          <section class="part" key={name}>
            <p class="strong">{say`${name}step ${grouped(record.step)}`}</p>
            <dl class="step-facts">
              {facts.map(([text, key, value]) => (
                <>
                  <dt>{text}</dt>
                  <dd data-fact={key} data-value={value ?? ""}>
                    {value == null ? "–" : short(value, 4)}
                  </dd>
                </>
              ))}
            </dl>
            {evaluated !== undefined && (
              <>
                <p class="label">{say`on the held-out part, after step ${grouped(evaluated.step)}`}</p>
                <dl class="step-facts">
                  {scores.map(([score, value]) => (
                    <>
                      <dt>{score.replaceAll("_", " ")}</dt>
                      <dd data-score={score}>{short(value ?? 0)}</dd>
                    </>
                  ))}
                </dl>
              </>
            )}
          </section>
        );
      })}
      {told.running && <p class="quiet">{say`The training goes on; this page follows it.`}</p>}
    </>
  );
}
