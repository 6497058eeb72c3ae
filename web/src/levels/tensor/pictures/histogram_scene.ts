/** How often numbers of each size occur, as columns; numbers that were filled in are counted apart. */

import type { Palette } from "../../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../../draw/scene.ts";
import type { Sheet } from "../../../draw/sheet.ts";
import { counted, grouped, short } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";

const [BINS, TALL, TOP, BOTTOM, LEFT] = [41, 240, 24, 28, 8];

/** A number so far beyond the scale was filled in, and is no score. */
const FAR = 8;

interface Bin {
  count: number;
  /** A cell of this bin, after the one in hand where there is such a one. */
  cell: number[] | null;
}

export interface Counted {
  readonly low: number;
  readonly high: number;
  readonly bins: readonly Bin[];
  readonly filled: number;
  readonly zero: number;
  readonly of: number;
  /** The bin of the number in hand; −1: it was filled in. */
  readonly held: number;
}

/** The numbers of the slice on which the cell lies, by size. */
export function countedIn(sheet: Sheet, cell: readonly number[]): Counted {
  const isScore = (value: number): boolean => Number.isFinite(value) && Math.abs(value) <= sheet.scale * FAR;
  let [low, high, filled, zero] = [Infinity, -Infinity, 0, 0];
  const each = (visit: (value: number, at: () => number[]) => void): void => {
    for (let row = 0; row < sheet.rows; row++) {
      for (let column = 0; column < sheet.columns; column++) {
        const at = sheet.cell(cell, row, column);
        visit(sheet.value(at), () => at);
      }
    }
  };
  each((value) => {
    if (!isScore(value)) filled += 1;
    else [low, high] = [Math.min(low, value), Math.max(high, value)];
    if (value === 0) zero += 1;
  });
  const bins = Array.from({ length: BINS }, (): Bin => ({ count: 0, cell: null }));
  const binOf = (value: number): number => {
    if (!isScore(value)) return -1;
    return high === low ? 0 : Math.min(Math.floor(((value - low) / (high - low)) * BINS), BINS - 1);
  };
  const own = cell.join();
  let passed = false;
  const after = new Set<number>();
  each((value, at) => {
    const order = binOf(value);
    const bin = bins[order];
    const here = at();
    if (bin !== undefined) {
      bin.count += 1;
      if (bin.cell === null || (passed && !after.has(order))) bin.cell = here;
      if (passed) after.add(order);
    }
    if (here.join() === own) passed = true;
  });
  return { low, high, bins, filled, zero, of: sheet.rows * sheet.columns, held: binOf(sheet.value(cell)) };
}

export function histogramScene(sheet: Sheet, given: Counted, palette: Palette, width: number): Scene {
  const { bins, low, high, held } = given;
  const items: Item[] = [];
  const panels: Panel[] = [];
  const most = Math.max(...bins.map(({ count }) => count), 1);
  const wide = (width - 2 * LEFT) / BINS;
  const floor = TOP + TALL;
  const across = (value: number): number => LEFT + (high === low ? 0.5 : (value - low) / (high - low)) * wide * BINS;
  bins.forEach(({ count, cell }, order) => {
    const h = count === 0 ? 0 : Math.max((count / most) * TALL, 2);
    const area = { x: LEFT + order * wide + 0.5, y: floor - h, w: Math.max(wide - 1, 1), h };
    const fill = order === held ? palette.fill(sheet.role) : palette.cell(sheet.role, 0.45);
    items.push({ ...area, fill });
    if (order === held && count > 0) {
      const x = Math.min(Math.max(area.x + wide / 2, 24), width - 24);
      const text = String(count);
      items.push({ x, y: area.y - 6, text, fill: palette.ink, bold: true, align: "center" });
    }
    if (cell === null) return;
    panels.push({
      tensor: sheet.name,
      ...{ x: LEFT + order * wide, y: TOP, w: wide, h: TALL, rows: 1, columns: 1 },
      cell: () => [...cell],
      find: () => (order === held ? [0, 0] : null),
    });
  });
  items.push({ d: `M${LEFT} ${floor + 0.5}H${width - LEFT}`, stroke: palette.quiet, line: 1 });
  const y = floor + 18;
  const text = { y, fill: palette.quiet } as const;
  items.push({ ...text, x: LEFT, text: short(low) });
  items.push({ ...text, x: width - LEFT, text: short(high), align: "right" });
  const middle = across(0);
  if (low < 0 && high > 0 && middle > 64 && middle < width - 64) {
    items.push({ d: `M${middle} ${TOP}V${floor}`, stroke: palette.quiet, line: 1, dash: 3 });
    items.push({ ...text, x: middle, text: "0", align: "center" });
  }
  return { width, height: floor + BOTTOM, items, panels };
}

/** What cannot be seen in the columns. */
export function besides({ filled, zero, of }: Counted): string {
  const parts = [counted(of, "number")];
  if (zero > 0) parts.push(say`${grouped(zero)} exactly 0`);
  if (filled > 0) parts.push(say`${grouped(filled)} filled in where looking is forbidden, not drawn`);
  return parts.join("; ");
}
