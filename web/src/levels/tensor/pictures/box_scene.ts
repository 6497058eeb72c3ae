/** One tensor as one large box: each sentence partly hidden by the one before it, its heads side by side. */

import { type Box, type Face, type Look, measureBox } from "../../../draw/box.ts";
import { drawBox } from "../../../draw/draw_box.ts";
import type { Item, Panel, Scene } from "../../../draw/scene.ts";
import type { Sheet } from "../../../draw/sheet.ts";
import { range } from "../../../numbers/arithmetic.ts";
import { say } from "../../../words/say.ts";

/** How many heads are side by side, each as a square of its own. */
export const BESIDE = 4;

/** The words next to the rows take at most so much. */
const WORDS = 88;

/** Room between two faces for the name of the second one's head, and next to the words of the rows. */
const [APART, MARGIN] = [56, 20];

/** The box of a tensor in a width, no higher than asked where its bricks can still be seen. */
export function largeBoxScene(
  sheet: Sheet,
  cell: readonly number[],
  look: Look,
  { width, height }: { width: number; height: number },
  title: string,
): Scene {
  const square = sheet.layout.columns === "key";
  const heads = sheet.size(sheet.layout.sheets);
  const shown = square ? headsShown(sheet, cell) : [0];
  const across = square ? Math.min(shown.length, width > 700 ? 2 : 1) : 1;
  const behind = Math.min(sheet.size(sheet.layout.depth), 4);
  const room = (width - WORDS - MARGIN - across * (behind * look.step + 4)) / across - (across > 1 ? APART : 0);
  const columns = sheet.columns * (square ? 1 : heads);
  const tall = Math.ceil(shown.length / across);
  // A brick bears its number while there is room; a picture is no higher than the window if its bricks can be seen.
  const high = Math.max((height - 96 - tall * behind * look.step) / tall, 160);
  // Where cells are narrow they are still as high as the word next to them.
  const side = Math.min(look.side, Math.max(room / columns, square ? 0 : 16), Math.max(high / sheet.rows, 14));
  const largest = { width: room, height: high };
  const measured = measureBox(sheet, title, { ...look, side, largest }, true);
  const box: Box = square ? { ...measured, ...facesOf(measured, cell, shown, across) } : measured;
  const items: Item[] = [];
  const panels: Panel[] = [];
  drawBox(box, box.words + MARGIN, 0, { ...look, side, largest }, items, panels);
  return { width, height: box.height + 4, items, panels };
}

/** The heads that are drawn: all of a few, else as many around the one in hand. */
export function headsShown(sheet: Sheet, cell: readonly number[], most = BESIDE): number[] {
  const count = sheet.size(sheet.layout.sheets);
  const held = cell[sheet.axes.indexOf(sheet.layout.sheets ?? "")] ?? 0;
  const first = Math.min(Math.max(held - Math.floor(most / 2), 0), Math.max(count - most, 0));
  return range(Math.min(count, most), (step) => first + step);
}

function facesOf(
  box: Box,
  cell: readonly number[],
  heads: readonly number[],
  across: number,
): { faces: Face[]; height: number } {
  const { sheet } = box;
  const place = sheet.axes.indexOf(sheet.layout.sheets ?? "");
  const faces = heads.map((head, order): Face => {
    const base = sheet.cell(cell, 0, 0).map((index, axis) => (axis === place ? head : index));
    const dx = (order % across) * (box.w + box.depth + APART);
    const dy = Math.floor(order / across) * (box.h + box.depth + 24);
    return { dx, dy, base, title: heads.length > 1 ? say`head ${head}` : "" };
  });
  const last = faces.at(-1)?.dy ?? 0;
  return { faces, height: box.height - (box.faces.at(-1)?.dy ?? 0) + last };
}
