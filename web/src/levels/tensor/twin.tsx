/** A window of a tensor as a table of links: what is shown next to every picture of it. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import type { Sheet } from "../../draw/sheet.ts";
import { range } from "../../numbers/arithmetic.ts";
import { inCell } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";

interface TwinProps {
  readonly sheet: Sheet;
  readonly base: readonly number[];
  readonly row: number;
  readonly column: number;
  readonly rows: number;
  readonly columns: number;
  readonly sentence: number;
}

/** The window as a table of links; it has hundreds of them, so they are made when it is opened. */
export function Twin(props: TwinProps): VNode {
  const [open, setOpen] = useState(false);
  return (
    <details class="twin" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{say`the same as a table`}</summary>
      {open && <Table {...props} />}
    </details>
  );
}

function Table({ sheet, base, row, column, rows, columns, sentence }: TwinProps): VNode {
  const { names } = useStore();
  const label = (axis: string | null, index: number): string => {
    return axis === null ? "" : names.label(sheet.name, axis, index, sentence).text;
  };
  const steps = (from: number, count: number): number[] => range(count, (step) => from + step);
  return (
    <Scroll label={say`${names.title(sheet.name)} as a table`}>
      <table>
        <thead>
          <tr>
            <th />
            {steps(column, columns).map((at) => (
              <th scope="col">{label(sheet.layout.columns, at)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps(row, rows).map((down) => (
            <tr>
              <th scope="row">{label(sheet.layout.rows, down)}</th>
              {steps(column, columns).map((along) => {
                const cell = sheet.cell(base, down, along);
                return (
                  <td>
                    <a href={toNumber(sheet.name, cell, names)}>{inCell(sheet.value(cell))}</a>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}
