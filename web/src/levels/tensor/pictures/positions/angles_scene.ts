/** Rotary positions as dials: for each word and pair of channels the pair before and after it was turned. */

import { cut, type Look } from "../../../../draw/box.ts";
import type { Palette } from "../../../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../../../draw/scene.ts";
import type { Sheet } from "../../../../draw/sheet.ts";
import type { Role } from "../../../../formulas/names.ts";
import { say } from "../../../../words/say.ts";

/** A pair of channels of one word: its directions before and after, and the angle between them, in radians. */
export interface Turn {
  readonly before: number;
  readonly after: number;
  readonly angle: number;
}

export interface Dials {
  readonly words: readonly string[];
  readonly pairs: readonly number[];
  turn(row: number, column: number): Turn;
  cell(row: number, column: number): number[];
  /** The dial that a cell belongs to. */
  place(cell: readonly number[]): readonly [number, number];
}

const [LEFT, TOP, DIAL] = [88, 24, 44];

/** How many rows and columns of dials fit. */
export function dialsIn(width: number, height: number): { rows: number; columns: number } {
  return {
    rows: Math.max(1, Math.floor((height - TOP) / DIAL)),
    columns: Math.max(1, Math.floor((width - LEFT) / DIAL)),
  };
}

export function dialsScene(dials: Dials, sheet: Sheet, { palette, measure }: Look): Scene {
  const items: Item[] = [];
  const { words, pairs } = dials;
  pairs.forEach((pair, column) => {
    const x = LEFT + (column + 0.5) * DIAL;
    items.push({ x, y: TOP - 8, text: String(pair), fill: palette.quiet, align: "center" });
  });
  items.push({ x: LEFT - 8, y: TOP - 8, text: say`pair`, fill: palette.quiet, align: "right" });
  words.forEach((word, row) => {
    const y = TOP + (row + 0.5) * DIAL;
    const text = cut(word, LEFT - 12, measure);
    items.push({ x: LEFT - 8, y: y + 4, text, fill: palette.ink, align: "right" });
    pairs.forEach((_, column) => {
      drawDial(LEFT + (column + 0.5) * DIAL, y, dials.turn(row, column), sheet.role, palette, items);
    });
  });
  const [w, h] = [DIAL * pairs.length, DIAL * words.length];
  const panel: Panel = {
    tensor: sheet.name,
    ...{ x: LEFT, y: TOP, w, h, rows: words.length, columns: pairs.length },
    cell: dials.cell,
    find: (cell) => {
      const [row, column] = dials.place(cell);
      const [first, own] = [sheet.cell(cell, 0, 0), sheet.cell(dials.cell(0, 0), 0, 0)];
      const inside = row >= 0 && row < words.length && column >= 0 && column < pairs.length;
      return inside && first.join() === own.join() ? [row, column] : null;
    },
  };
  return { width: LEFT + w + 4, height: TOP + h + 4, items, panels: [panel] };
}

/** A circle, the angle as an arc, a thin hand before and a thick one after. Angles grow against the clock. */
function drawDial(
  x: number,
  y: number,
  { before, after, angle }: Turn,
  role: Role,
  palette: Palette,
  items: Item[],
): void {
  const radius = DIAL / 2 - 5;
  const to = (direction: number, length: number): string => {
    return `${(x + Math.cos(direction) * length).toFixed(2)} ${(y - Math.sin(direction) * length).toFixed(2)}`;
  };
  const circle = `M${x - radius} ${y}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
  items.push({ d: circle, stroke: palette.hair, line: 1 });
  const turned = angle % (2 * Math.PI);
  if (Math.abs(turned) > 0.02) {
    const [inner, large] = [radius * 0.5, Math.abs(turned) > Math.PI ? 1 : 0];
    const d = `M${to(before, inner)}A${inner} ${inner} 0 ${large} ${turned > 0 ? 0 : 1} ${to(before + turned, inner)}`;
    items.push({ d, stroke: palette.quiet, line: 1, dash: 2 });
  }
  items.push({ d: `M${x} ${y}L${to(before, radius)}`, stroke: palette.quiet, line: 1 });
  items.push({ d: `M${x} ${y}L${to(after, radius)}`, stroke: palette.text(role), line: 2.5 });
}
