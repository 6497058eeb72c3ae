/** One vector as a strip of cells: a few of its numbers, or all of them on several lines. */

import { range } from "../../numbers/arithmetic.ts";
import type { Given } from "../../scout/scout.ts";
import { type Board, drawGrid, laidOut } from "./board.ts";

/** The first numbers of a vector, so many as have room; returns how many. */
export function drawStrip(board: Board, name: string, given: Given, x: number, y: number, w: number, most = 6): number {
  const sheet = laidOut(board.s, name);
  const { rows: axis } = sheet.layout;
  const base = board.s.cell(name, given);
  const count = Math.min(most, sheet.columns, Math.max(1, Math.floor(w / 40)));
  const row = axis === null ? 0 : (base[sheet.axes.indexOf(axis)] ?? 0);
  const columns = range(count);
  drawGrid(board, { sheet, base, x, y, cw: Math.min(48, w / count), ch: 24, rows: [row], columns });
  return count;
}

/** One number. */
export function drawOne(board: Board, name: string, given: Given, x: number, y: number, w = 56): void {
  const sheet = laidOut(board.s, name);
  const base = board.s.cell(name, given);
  const step = (axis: string | null): number => (axis === null ? 0 : (base[sheet.axes.indexOf(axis)] ?? 0));
  const [rows, columns] = [[step(sheet.layout.rows)], [step(sheet.layout.columns)]];
  drawGrid(board, { sheet, base, x, y, cw: w, ch: 24, rows, columns });
}

/** All numbers of a vector on as many lines as they need, without digits; returns how high it is. */
export function drawAll(
  { s, look, items, panels }: Board,
  name: string,
  given: Given,
  x: number,
  y: number,
  w: number,
) {
  const sheet = laidOut(s, name);
  const base = s.cell(name, given);
  const count = sheet.columns;
  const side = count > 256 ? 12 : 16;
  const fit = Math.max(1, Math.floor(w / side));
  // Whole powers of two make lines that can be counted.
  const along = count <= fit ? count : 2 ** Math.floor(Math.log2(fit));
  const lines = Math.ceil(count / along);
  const axis = sheet.axes.indexOf(sheet.layout.columns ?? "");
  const cell = (row: number, column: number): number[] =>
    base.map((index, place) => (place === axis ? Math.min(row * along + column, count - 1) : index));
  for (let channel = 0; channel < count; channel++) {
    const [row, column] = [Math.floor(channel / along), channel % along];
    const { role, strength, value } = sheet.paint(cell(row, column), look.sentence);
    const [cx, cy] = [x + column * side + 0.5, y + row * side + 0.5];
    items.push({ x: cx, y: cy, w: side - 1, h: side - 1, fill: look.palette.cell(role, strength) });
    const stroke = look.palette.on(role, strength);
    if (value < 0 && strength > 0.02)
      items.push({ d: `M${cx + side / 2 - 2.5} ${cy + side / 2 - 0.5}h4`, stroke, line: 1 });
  }
  panels.push({
    ...{ tensor: name, x, y, w: along * side, h: lines * side, rows: lines, columns: along, cell },
    find(cell) {
      if (!base.every((index, place) => place === axis || cell[place] === index)) return null;
      const channel = cell[axis] ?? 0;
      return [Math.floor(channel / along), channel % along];
    },
  });
  return lines * side;
}
