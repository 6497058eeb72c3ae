/** Curves below each other, each on a strip of its own over the same steps. */

import { cut, type Look } from "../../../../draw/box.ts";
import type { Item, Panel, Scene } from "../../../../draw/scene.ts";
import { range } from "../../../../numbers/arithmetic.ts";
import { short } from "../../../../numbers/written.ts";

export interface Strip {
  readonly label: string;
  /** Whether this is the one in hand. */
  readonly held: boolean;
  /** The curve, at `fine` points a step. */
  readonly curve: readonly number[];
  /** The numbers at the steps themselves that the run has: they are dotted. */
  readonly dots: readonly (number | null)[];
}

export interface Strips {
  readonly strips: readonly Strip[];
  /** What each step is called; only some are written where there is no room for all. */
  readonly steps: readonly string[];
  readonly fine: number;
  /** The step in hand; −1 for none. */
  readonly step: number;
  /** The cell that a strip and a step stand for, and back. */
  cell(strip: number, step: number): number[];
}

/** So many curves are drawn below each other. */
export const CURVES = 8;

/** Which of many curves are drawn: some, evenly spaced, with the one in hand. */
export function shownOf(count: number, held: number): number[] {
  if (count <= CURVES) return range(count);
  const even = range(CURVES, (step) => Math.round((step * (count - 1)) / (CURVES - 1)));
  const nearest = even.reduce((one, two) => (Math.abs(two - held) < Math.abs(one - held) ? two : one));
  return even.map((each) => (each === nearest ? held : each));
}

const [LEFT, TALL, ROOM] = [72, 44, 8];

export function stripsScene(given: Strips, { palette, measure }: Look, width: number): Scene {
  const { strips, steps, fine } = given;
  const items: Item[] = [];
  const panels: Panel[] = [];
  const wide = (width - LEFT - 40) / steps.length;
  const size = Math.max(...strips.flatMap(({ curve }) => curve.map(Math.abs)), 1e-9);
  const [top, bottom] = [ROOM, ROOM + strips.length * TALL];
  if (given.step >= 0) {
    const x = LEFT + (given.step + 0.5) * wide;
    items.push({ d: `M${x} ${top}V${bottom}`, stroke: palette.hair, line: 1 });
  }
  strips.forEach((strip, order) => {
    const y = top + order * TALL;
    const middle = y + TALL / 2;
    const high = (value: number): number => middle - (value / size) * (TALL / 2 - 4);
    const [x, end] = [LEFT, LEFT + wide * steps.length];
    items.push({ d: `M${x} ${middle}H${end}`, stroke: palette.hair, line: 1 });
    const points = strip.curve.map((value, at) => `${x + (at / fine + 0.5) * wide} ${high(value).toFixed(1)}`);
    const stroke = strip.held ? palette.ink : palette.text("residual");
    items.push({ d: `M${points.join("L")}`, stroke, line: strip.held ? 2 : 1 });
    strip.dots.forEach((value, step) => {
      if (value === null) return;
      const side = step === given.step && strip.held ? 7 : 5;
      const [cx, cy] = [x + (step + 0.5) * wide, high(value)];
      items.push({ x: cx - side / 2, y: cy - side / 2, w: side, h: side, fill: stroke });
    });
    const text = cut(strip.label, LEFT - 12, measure);
    items.push({
      x: LEFT - 8,
      y: middle + 4,
      text,
      fill: stroke,
      align: "right",
      bold: strip.held,
    });
    panels.push({
      tensor: "",
      ...{ x, y, w: wide * steps.length, h: TALL, rows: 1, columns: steps.length },
      cell: (_, step) => given.cell(order, step),
      find: (cell) => {
        const step = steps.findIndex((_, at) => given.cell(order, at).join() === cell.join());
        return step < 0 ? null : [0, step];
      },
    });
  });
  const [first, last] = [top, top + TALL];
  const scale = { x: LEFT + wide * steps.length + 6, fill: palette.quiet } as const;
  items.push({ ...scale, y: first + 12, text: short(size, 2) }, { ...scale, y: last - 2, text: short(-size, 2) });
  drawSteps(given, { palette, measure }, wide, bottom, items);
  return { width, height: bottom + 24, items, panels };
}

function drawSteps(
  given: Strips,
  { palette, measure }: Pick<Look, "palette" | "measure">,
  wide: number,
  y: number,
  items: Item[],
): void {
  const { steps } = given;
  const widest = Math.max(...steps.map((step) => measure(step, 12)));
  const every = Math.ceil((widest + 8) / wide);
  steps.forEach((text, step) => {
    if (step % every !== 0) return;
    items.push({
      x: LEFT + (step + 0.5) * wide,
      y: y + 16,
      text,
      fill: palette.quiet,
      align: "center",
    });
  });
}
