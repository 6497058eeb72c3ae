/** A window of a tensor as a grid of numbers with the words of its rows and columns, and the whole of it in small. */

import { cut, type Measure, namesWords } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import type { Sheet } from "../../draw/sheet.ts";
import { imageOfSheet } from "../../draw/sheet_image.ts";
import { lastOf } from "../../formulas/names.ts";
import { digitsIn, shareInCell } from "../../numbers/apart.ts";
import { range } from "../../numbers/arithmetic.ts";

export interface Window {
  readonly row: number;
  readonly column: number;
  readonly rows: number;
  readonly columns: number;
}

const CELL = { w: 48, h: 28 };
const LABEL = 88;
/** How high the map of the whole sheet may be. */
const MAP = 128;
const HEAD = { grouped: 112, turned: 72, flat: 20 };

/** The rows and columns of the sheet that fit into a width and height, so that the cell in hand is among them. */
export function windowOf(sheet: Sheet, row: number, column: number, width: number, height: number): Window {
  const columns = Math.max(1, Math.min(sheet.columns, Math.floor((width - labelWidth(sheet)) / CELL.w)));
  const rows = Math.max(1, Math.min(sheet.rows, Math.floor(height / CELL.h)));
  const begin = (place: number, count: number, all: number): number => {
    return Math.min(Math.max(place - Math.floor(count / 2), 0), Math.max(all - count, 0));
  };
  return { row: begin(row, rows, sheet.rows), column: begin(column, columns, sheet.columns), rows, columns };
}

function labelWidth(sheet: Sheet): number {
  return namesWords(sheet.layout.rows) || sheet.layout.rows === "row" ? LABEL : 40;
}

/** The window with its digits. */
export function gridScene(
  sheet: Sheet,
  base: readonly number[],
  seen: Window,
  sentence: number,
  palette: Palette,
  measure: Measure,
): Scene {
  const items: Item[] = [];
  const left = labelWidth(sheet);
  const grouped = sheet.layout.columns?.includes(" · ") === true;
  const words = grouped || namesWords(sheet.layout.columns);
  const top = grouped ? HEAD.grouped : words ? HEAD.turned : HEAD.flat;
  for (let place = 0; place < seen.columns; place++) {
    const column = seen.column + place;
    const { text, hidden } = sheet.names.label(sheet.name, sheet.layout.columns ?? "", column, sentence);
    const fill = hidden ? palette.text("hidden") : palette.quiet;
    const x = left + CELL.w * (place + 0.5);
    if (words)
      items.push({
        x: x + 4,
        y: top - 6,
        text: cut(text, top - 8, measure),
        fill,
        turned: true,
      });
    else items.push({ x, y: top - 6, text, fill, align: "center" });
  }
  const digits = lastOf(sheet.name) === "weights" ? digitsIn(rowsIn(sheet, base, seen)) : 2;
  const paint = sheet.painter(base, sentence);
  for (let place = 0; place < seen.rows; place++) {
    const row = seen.row + place;
    const y = top + CELL.h * place;
    const label = sheet.names.label(sheet.name, sheet.layout.rows ?? "", row, sentence);
    const fill = label.hidden ? palette.text("hidden") : palette.ink;
    items.push({
      x: left - 8,
      y: y + 18,
      text: cut(label.text, left - 12, measure),
      fill,
      bold: label.hidden,
      align: "right",
    });
    for (let along = 0; along < seen.columns; along++) {
      const { role, strength, value, crossed } = paint(row, seen.column + along);
      // Lighter than a brick without digits, so that they can be read.
      const shown = strength * 0.88;
      const x = left + CELL.w * along;
      items.push({
        x: x + 0.5,
        y: y + 0.5,
        w: CELL.w - 1,
        h: CELL.h - 1,
        fill: palette.cell(role, shown),
      });
      // In the corner, so that the digits can be read.
      if (crossed) {
        const d = `M${x + 2} ${y + CELL.h - 12}L${x + 12} ${y + CELL.h - 2}M${x + 2} ${y + CELL.h - 7}l5 5`;
        const stroke = strength > 0.5 ? palette.on(role, shown) : palette.fill(role);
        items.push({ d, stroke, line: 1 });
      }
      items.push({
        x: x + CELL.w / 2,
        y: y + 18,
        text: shareInCell(value, digits),
        fill: palette.on(role, shown),
        align: "center",
      });
    }
  }
  const panel: Panel = {
    tensor: sheet.name,
    ...{ x: left, y: top, w: CELL.w * seen.columns, h: CELL.h * seen.rows, rows: seen.rows, columns: seen.columns },
    cell: (row, column) => sheet.cell(base, seen.row + row, seen.column + column),
    find: (cell) => {
      const [row, column] = placeIn(sheet, cell);
      const inside =
        row >= seen.row && row < seen.row + seen.rows && column >= seen.column && column < seen.column + seen.columns;
      return inside && same(sheet.cell(base, row, column), cell) ? [row - seen.row, column - seen.column] : null;
    },
  };
  return { width: left + CELL.w * seen.columns + 2, height: top + CELL.h * seen.rows + 4, items, panels: [panel] };
}

/** The numbers of a window, row by row. */
function rowsIn(sheet: Sheet, base: readonly number[], seen: Window): number[][] {
  return range(seen.rows, (row) =>
    range(seen.columns, (column) => sheet.value(sheet.cell(base, seen.row + row, seen.column + column))),
  );
}

/** The row and column of a cell on its sheet. */
export function placeIn(sheet: Sheet, cell: readonly number[]): [number, number] {
  const along = (axis: string | null): number => (axis === null ? 0 : (cell[sheet.axes.indexOf(axis)] ?? 0));
  return [along(sheet.layout.rows), along(sheet.layout.columns)];
}

function same(one: readonly number[], two: readonly number[]): boolean {
  return one.every((index, axis) => index === two[axis]);
}

type Image = Extract<Item, { pixels: unknown }>;

/** The whole sheet as an image. */
export function overviewImage(
  sheet: Sheet,
  base: readonly number[],
  sentence: number,
  palette: Palette,
  width: number,
): Image {
  const scale = Math.min(width / sheet.columns, MAP / sheet.rows, 8);
  const stretch = (count: number, most: number): number => Math.min(Math.max(count * scale, Math.min(24, most)), most);
  const [w, h] = [stretch(sheet.columns, width), stretch(sheet.rows, MAP)];
  const { drawn } = sheet;
  const [columns, rows] = [Math.min(drawn.columns, Math.ceil(w * 2)), Math.min(drawn.rows, Math.ceil(h * 2))];
  const pixels = imageOfSheet(sheet, base, sentence, { rows, columns }, palette);
  return { x: 1, y: 1, w, h, columns, rows, pixels };
}

/** That image with the window framed; null where the window shows it all. */
export function overviewScene(
  sheet: Sheet,
  base: readonly number[],
  seen: Window,
  palette: Palette,
  image: Image,
): Scene | null {
  if (seen.rows >= sheet.rows && seen.columns >= sheet.columns) return null;
  const { w, h } = image;
  const [x, y] = [1 + (seen.column / sheet.columns) * w, 1 + (seen.row / sheet.rows) * h];
  const frame = { w: (seen.columns / sheet.columns) * w, h: (seen.rows / sheet.rows) * h };
  const items: Item[] = [image, { x, y, ...frame, stroke: palette.ink, line: 1.5 }];
  const panel: Panel = {
    tensor: sheet.name,
    ...{ x: 1, y: 1, w, h, rows: sheet.rows, columns: sheet.columns },
    cell: (row, column) => sheet.cell(base, row, column),
    find: () => null,
  };
  return { width: w + 2, height: h + 2, items, panels: [panel] };
}
