/** Shares as bars: those of the run are filled and lead to their numbers, those of a document are outlines. */

import { cut } from "../../draw/box.ts";
import { Pen } from "../../draw/pen.ts";
import { percent } from "../../numbers/written.ts";
import type { Quoted } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import type { Board } from "./board.ts";

export interface Share {
  readonly label: string;
  readonly value: number;
  /** The cell that it is; without one it was printed in a document. */
  readonly cell?: readonly number[];
}

const [ROW, LABELS] = [24, 104];

/** Bars below each other, so long for a share of 1; returns where the next line begins. */
export function drawShares(
  board: Board,
  tensor: string,
  shares: readonly Share[],
  x: number,
  y: number,
  unit: number,
): number {
  const { look, panels } = board;
  const { palette, measure } = look;
  const pen = new Pen(board.items);
  const left = x + LABELS;
  shares.forEach(({ label, value, cell }, row) => {
    const [top, wide, role] = [y + row * ROW, Math.max(1, unit * value), board.s.names.role(tensor)];
    const [align, bold] = ["right", row === 0] as const;
    pen.text(left - 8, top + 16, cut(label, LABELS - 8, measure), palette.ink, { align, bold });
    if (cell === undefined) pen.frame(left, top + 5, wide, ROW - 10, palette.quiet);
    else pen.rect(left, top + 5, wide, ROW - 10, palette.fill(role));
    pen.text(left + wide + 6, top + 16, percent(value), cell === undefined ? palette.quiet : palette.text(role), {
      bold,
    });
  });
  const cells = shares.flatMap(({ cell = [] }) => (cell.length > 0 ? [[...cell]] : []));
  if (cells.length > 0) {
    panels.push({
      ...{
        tensor,
        x: left,
        y,
        w: unit * Math.max(...shares.map(({ value }) => value)) + 48,
        h: ROW * cells.length,
        rows: cells.length,
        columns: 1,
      },
      cell: (row) => cells[row] ?? [],
      find: (wanted) => {
        const row = cells.findIndex((each) => each.join() === wanted.join());
        return row < 0 ? null : [row, 0];
      },
    });
  }
  return y + ROW * shares.length;
}

/** What a picture of a document prints; undefined where the page came without it. */
export function quotedOf(s: Scout, picture: string): Quoted | undefined {
  return s.names.run.documents?.pictures[picture];
}

/** What it prints as shares, the largest first. */
export function printedShares(quoted: Quoted): Share[] {
  const all = Object.entries(quoted.shares).map(([label, value]) => ({ label, value }));
  return all.sort((one, two) => two.value - one.value);
}
