/** All heads as a table: what is drawn, in numbers. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { link, state } from "../../address/state.ts";
import type { Measure } from "../../measures/heads.ts";
import { short } from "../../numbers/written.ts";
import type { Source } from "../../sources/source.ts";
import { useFolded, useStore } from "../../views/hooks.ts";
import { Scroll } from "../../views/pieces.tsx";
import { heard, say } from "../../words/say.ts";
import { type Marks, opensAs } from "./about.ts";
import { headInHand } from "./hand.ts";
import { headsIn, jobIn, type Row } from "./heads_scene.ts";
import { atOnce, PLACES, whereOf } from "./jobs.ts";
import { lostBy, type Worth } from "./worth.ts";

const COLUMNS: readonly (readonly [Measure, string])[] = [
  ...PLACES,
  ["largest", say`largest`],
  ["even", say`even share`],
  ["distance", say`tokens away`],
  ["entropy", say`entropy, nats`],
];

interface HeadsTableProps {
  readonly rows: readonly Row[];
  readonly marks: Marks;
  readonly worth: Worth | null;
}

export function HeadsTable({ rows, marks, worth }: HeadsTableProps): VNode {
  const { source } = useStore();
  const { now, onToggle } = useFolded();
  return useMemo(() => tableOf({ rows, marks, worth }, source, onToggle), [source, rows, marks, worth, now]);
}

function tableOf(
  { rows, marks, worth }: HeadsTableProps,
  source: Source,
  onToggle: ReturnType<typeof useFolded>["onToggle"],
): VNode {
  const part = rows.some(({ heads }) => heads.shown !== undefined);
  const columns = COLUMNS.filter(([measure]) => {
    return rows.some(({ heads }) => heads.measured.some((each) => !Number.isNaN(each[measure])));
  });
  return (
    <details class="twin" onToggle={onToggle}>
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`all heads in numbers`}>
        <table>
          <thead>
            <tr>
              <th>{say`attention`}</th>
              <th>{say`block`}</th>
              <th>{say`head`}</th>
              <th>{say`looks mostly`}</th>
              {columns.map(([measure, text]) => (
                <th key={measure}>{text}</th>
              ))}
              <th>{say`tokens at once`}</th>
              {part && <th>{say`share that is shown`}</th>}
              {worth !== null && <th>{say`lost without it, ${heard(worth.unit)}`}</th>}
            </tr>
          </thead>
          <tbody>
            {headsIn(rows).map((head) => {
              const measured = head.row.heads.measured[head.index];
              if (measured === undefined) return null;
              const lost = worth?.of.get(head.id);
              const change = { ...headInHand(source, head.id, state.value), ...opensAs() };
              return (
                <tr key={head.id} data-head={head.id}>
                  <th>{head.row.band.replace(/:.*/, "")}</th>
                  <td>{head.row.block}</td>
                  <td>
                    <a href={link(change)}>{head.index}</a>
                  </td>
                  <td>{whereOf(jobIn(head).job, marks)}</td>
                  {columns.map(([measure]) => (
                    <td key={measure} data-measure={measure} data-value={measured[measure]}>
                      {Number.isNaN(measured[measure]) ? "" : short(measured[measure])}
                    </td>
                  ))}
                  <td>{short(atOnce(measured), 1)}</td>
                  {part && (
                    <td data-shown={head.row.heads.shown?.[head.index]}>
                      {short(head.row.heads.shown?.[head.index] ?? 1)}
                    </td>
                  )}
                  {lost !== undefined && <td data-lost={lost.difference}>{lostBy(lost, "")}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
