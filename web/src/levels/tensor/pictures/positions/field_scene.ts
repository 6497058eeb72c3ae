/** Numbers as a field of colours: those below zero blue, those above orange, as strong as they are large. */

import { cut, type Look } from "../../../../draw/box.ts";
import type { Palette } from "../../../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../../../draw/scene.ts";
import { short } from "../../../../numbers/written.ts";
import { say } from "../../../../words/say.ts";

export interface Field {
  readonly rows: number;
  readonly columns: number;
  /** What rows and columns are called; one that is empty is not written. */
  row(index: number): string;
  column(index: number): string;
  value(row: number, column: number): number;
  /** What the two directions count. */
  readonly down: string;
  readonly along: string;
}

const [LEFT, TOP, LEGEND] = [72, 20, 56];

export function fieldScene(field: Field, { palette, measure }: Look, width: number, tall: number): Scene {
  const { rows, columns } = field;
  const square = rows === columns ? tall : width;
  // Narrow columns are whole dots wide, or some would be drawn wider than others.
  const whole = Math.floor((width - LEFT - 4) / columns) * columns;
  const w = Math.min(whole > 0 ? whole : width - LEFT - 4, columns * 24, square);
  const h = Math.min(tall, rows * 24);
  const pixels = new Uint8ClampedArray(rows * columns * 4);
  let most = 1e-9;
  const values = new Float64Array(rows * columns);
  for (let at = 0; at < values.length; at++) {
    const value = field.value(Math.floor(at / columns), at % columns);
    values[at] = value;
    most = Math.max(most, Math.abs(value));
  }
  for (const [at, value] of values.entries()) pixels.set([...signed(palette, value / most), 255], at * 4);
  const items: Item[] = [{ x: LEFT, y: TOP, w, h, columns, rows, pixels }];
  const [every, across] = [Math.ceil(14 / (h / rows)), Math.ceil((measure("000", 12) + 8) / (w / columns))];
  const fill = palette.quiet;
  for (let row = 0; row < rows; row++) {
    const text = cut(field.row(row), LEFT - 12, measure);
    const y = TOP + ((row + 0.5) * h) / rows + 4;
    if (row % every === 0) items.push({ x: LEFT - 8, y, text, fill, align: "right" });
  }
  for (let column = 0; column < columns; column += across) {
    const x = LEFT + ((column + 0.5) * w) / columns;
    items.push({ x, y: TOP - 6, text: field.column(column), fill, align: "center" });
  }
  const y = TOP + h + 28;
  drawLegend(palette, most, y, say`${field.down} downwards, ${field.along} to the right`, items);
  const panel: Panel = {
    tensor: "",
    ...{ x: LEFT, y: TOP, w, h, rows, columns },
    cell: (row, column) => [row, column],
    find: ([row = -1, column = -1]) =>
      row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null,
  };
  return { width: Math.max(LEFT + w + 4, 320), height: TOP + h + LEGEND, items, panels: [panel] };
}

/** The colour of a number between −1 and 1. */
function signed(palette: Palette, share: number): readonly [number, number, number] {
  return palette.bytes(share < 0 ? "query" : "key", Math.abs(share));
}

/** The ramp with its two ends, and what the directions count. */
function drawLegend(palette: Palette, most: number, y: number, said: string, items: Item[]): void {
  const [steps, w] = [65, 96];
  const pixels = new Uint8ClampedArray(steps * 4);
  for (let step = 0; step < steps; step++) {
    pixels.set([...signed(palette, (step * 2) / (steps - 1) - 1), 255], step * 4);
  }
  const fill = palette.quiet;
  const x = LEFT + 48;
  items.push({ x: x - 6, y, text: short(-most, 2), fill, align: "right" });
  items.push({ x, y: y - 10, w, h: 12, columns: steps, rows: 1, pixels });
  items.push({ x: x + w + 6, y, text: short(most, 2), fill });
  items.push({ x: LEFT, y: y + 20, text: said, fill });
}
