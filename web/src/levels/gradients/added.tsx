/** One answer as a sum: what the embedding, each attention and each feed-forward added to its score. */

import type { VNode } from "preact";
import { toNumber, toTensor } from "../../address/links.ts";
import { short } from "../../numbers/written.ts";
import type { Added, Goal } from "../../record/sums.ts";
import { useStore } from "../../views/hooks.ts";
import { Table } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";

export function AddedUp({ goal }: { goal: Goal }): VNode {
  const { names } = useStore();
  const most = Math.max(1e-30, ...goal.added.map(({ value }) => Math.abs(value)));
  const total = goal.added.reduce((sum, { value }) => sum + value, goal.constant);
  const largest = [...goal.added].sort((one, two) => two.value - one.value).slice(0, 2);
  const named = largest.map(({ tensor }) => names.place(tensor)).join(say` and `);
  return (
    <>
      <h2>{say`What each part of the model added`}</h2>
      <p class="then">
        {goal.added.length === 1
          ? say`The output layer reads only this part: what goes into it is not added back in this model.`
          : say`The most came from ${named}. The score is a sum: the residual stream adds up what the embedding and each block give. Norms and activations of the output layer are held as in this run.`}
      </p>
      <Table
        kind="owed added"
        label={say`what each part of the model added to the score`}
        head={[say`part`, say`added to the score`, say`its strongest head`, say`the word that gave most`]}
        rows={[
          ...goal.added.map((part) => ({
            data: { "data-part": part.tensor, "data-value": part.value },
            cells: [
              <a
                href={toTensor(
                  part.tensor,
                  names.axes(part.tensor).map(() => 0),
                  names,
                )}
              >
                {/embed\.(word|position)$/.test(part.tensor) ? names.title(part.tensor) : names.place(part.tensor)}
              </a>,
              [
                <i
                  data-column={2}
                  data-below={part.value < 0}
                  style={{ width: `${(100 * Math.abs(part.value)) / most}%` }}
                />,
                signed(part.value),
              ],
              headOf(part),
              wordOf(part, goal.sentence),
            ],
          })),
          { cells: [say`biases of norms and output layer`, signed(goal.constant), "", ""] },
          {
            data: { "data-total": total },
            cells: [
              <b>{say`sum`}</b>,
              [
                <b>{short(total)}</b>,
                say` = the score `,
                <a href={toNumber(goal.name, goal.cell, names)}>{short(goal.value)}</a>,
              ],
              "",
              "",
            ],
          },
        ]}
      />
    </>
  );

  function headOf({ heads }: Added): string {
    const head = strongest(heads);
    return head === undefined ? "" : `${head}: ${signed(heads[head] ?? 0)}`;
  }

  function wordOf({ words, side }: Added, sentence: number): VNode | string {
    const token = strongest(words);
    if (token === undefined) return "";
    const word = names.word(side, sentence, token);
    return (
      <>
        <bdi class={word.hidden ? "hidden" : ""}>{word.text}</bdi>
        {`: ${signed(words[token] ?? 0)}`}
      </>
    );
  }
}

function strongest(values: readonly number[]): number | undefined {
  return [...values.keys()].sort((one, two) => Math.abs(values[two] ?? 0) - Math.abs(values[one] ?? 0))[0];
}

export function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${short(value)}`;
}
