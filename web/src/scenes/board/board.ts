/** What the tour's own pictures are drawn with: grids of numbers, boxes of one head, lines of coloured text. */

import { type Box, cut, type Look, measureBox } from "../../draw/box.ts";
import type { Item, Panel } from "../../draw/scene.ts";
import { type Arrangement, Sheet, sheetOf } from "../../draw/sheet.ts";
import { range } from "../../numbers/arithmetic.ts";
import { inCell } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";

/** A picture while it is drawn. */
export interface Board {
  readonly s: Scout;
  readonly look: Look;
  readonly width: number;
  /** The number in hand. */
  readonly tensor: string;
  readonly cell: readonly number[];
  /** What is chosen above the picture: a step for each of the scene's `asks`. */
  readonly at: readonly number[];
  /** The section of the run that the picture is drawn from: see the scene's `section`. */
  readonly told?: unknown;
  readonly items: Item[];
  readonly panels: Panel[];
}

/** Below this width a cell has no digits. */
export const DIGITS = 37;
export const LABEL = 72;

/** How tall a box may be, so that a step fits on a screen. */
const TALLEST = 208;

export interface Grid {
  readonly sheet: Sheet;
  /** A cell of the slice that is drawn. */
  readonly base: readonly number[];
  readonly x: number;
  readonly y: number;
  readonly cw: number;
  readonly ch: number;
  /** Which rows and columns of the slice are drawn. */
  readonly rows: readonly number[];
  readonly columns: readonly number[];
  /** Rows of the slice stand side by side. */
  readonly turned?: boolean;
  /** Cells for which this is false are empty; they can still be pointed at. */
  shown?(row: number, column: number): boolean;
  /** The numbers are not those of the run and cannot be opened. */
  readonly apart?: boolean;
  /** How the numbers are written; usually with two digits. */
  write?(value: number): string;
}

export function drawGrid({ items, panels, look }: Board, grid: Grid): void {
  const { sheet, base, x, y, cw, ch, turned = false } = grid;
  const [down, along] = turned ? [grid.columns, grid.rows] : [grid.rows, grid.columns];
  const cellAt = (r: number, c: number): number[] => {
    const [row, column] = [down[r] ?? 0, along[c] ?? 0];
    return turned ? sheet.cell(base, column, row) : sheet.cell(base, row, column);
  };
  down.forEach((row, r) => {
    along.forEach((column, c) => {
      const box = { x: x + c * cw + 0.5, y: y + r * ch + 0.5, w: cw - 1, h: ch - 1 };
      if (grid.shown?.(row, column) === false) {
        items.push({ ...box, fill: look.palette.faint });
        return;
      }
      const { role, strength, value } = sheet.paint(cellAt(r, c), look.sentence);
      drawCell(items, look, box, role, strength, value, grid.write);
    });
  });
  if (grid.apart === true) return;
  panels.push({
    ...{ tensor: sheet.name, x, y, w: cw * along.length, h: ch * down.length },
    ...{ rows: down.length, columns: along.length },
    cell: cellAt,
    find: (cell) => {
      for (let r = 0; r < down.length; r++) {
        for (let c = 0; c < along.length; c++) if (cellAt(r, c).join() === cell.join()) return [r, c];
      }
      return null;
    },
  });
}

/** A cell of a grid with its digits, where there is room for them. */
export function drawCell(
  items: Item[],
  { palette }: Look,
  box: { x: number; y: number; w: number; h: number },
  role: Parameters<Look["palette"]["cell"]>[0],
  strength: number,
  value: number,
  write = inCell,
): void {
  // Lighter than a brick without digits, so that they can be read.
  const digits = box.w >= DIGITS - 1;
  const shown = digits ? strength * 0.88 : strength;
  items.push({ ...box, fill: palette.cell(role, shown) });
  const [x, y] = [box.x + box.w / 2, box.y + box.h / 2];
  const fill = palette.on(role, shown);
  if (digits) items.push({ x, y: y + 4, text: write(value), fill, align: "center" });
  else if (value < 0 && strength > 0.02) items.push({ d: `M${x - 2} ${y}h4`, stroke: fill, line: 1 });
}

/** Words next to rows, or turned above columns. */
export function drawWords(
  { s, items, look }: Board,
  tokens: readonly number[],
  x: number,
  y: number,
  step: number,
  turned: boolean,
  most = LABEL - 8,
  of: { readonly side: Side; readonly sentence: number } = s,
): void {
  tokens.forEach((token, order) => {
    const { text, hidden } = s.names.word(of.side, of.sentence, token);
    const place = turned ? { x: x + step * (order + 0.5) + 4, y } : { x, y: y + step * (order + 0.5) + 4 };
    items.push({
      ...{ ...place, text: cut(text, most, look.measure), bold: hidden },
      fill: look.palette.text(hidden ? "hidden" : "residual"),
      ...(turned ? { turned: true } : { align: "right" as const }),
    });
  });
}

type Piece = readonly [text: string, fill: string, bold?: boolean];

/** Pieces of text one after the other, on as many lines as they need; returns where the next line begins. */
export function drawLine({ items, look, width }: Board, x: number, y: number, pieces: readonly Piece[]): number {
  let [at, line] = [x, y];
  for (const [text, fill, bold = false] of pieces) {
    const wide = look.measure(text, 14, bold);
    if (at > x && at + wide > width) [at, line] = [x, line + 20];
    items.push({ x: at, y: line, text, size: 14, fill, bold });
    at += wide;
  }
  return line + 20;
}

/** A text on as many lines as it needs; returns where the next line begins. */
export function drawText(board: Board, x: number, y: number, text: string, fill = board.look.palette.quiet): number {
  const pieces = text.split(" ").map((word): Piece => [`${word} `, fill]);
  return drawLine(board, x, y, pieces);
}

export function caption({ items, look }: Board, x: number, y: number, text: string, role: Sheet["role"]): void {
  items.push({ x, y, text, fill: look.palette.text(role), bold: true });
}

/** A frame around something that is looked at. */
export function frame({ items, look }: Board, x: number, y: number, w: number, h: number): void {
  items.push({ x: x - 1, y: y - 1, w: w + 2, h: h + 2, stroke: look.palette.ink, line: 1.5 });
}

/** So many steps of an axis, with the one in hand among them. */
export function around(place: number, size: number, count: number): number[] {
  const shown = Math.min(count, size);
  const first = Math.min(Math.max(place - Math.floor(shown / 2), 0), size - shown);
  return range(shown, (step) => first + step);
}

/** A tensor as a sheet, laid out as usual or as asked for. */
export function laidOut(s: Scout, name: string, layout?: Arrangement): Sheet {
  const usual = sheetOf(name, s.names, s.fetch);
  if (usual === null) s.tensor(name);
  const tensor = s.tensor(name);
  return layout === undefined && usual !== null
    ? usual
    : new Sheet(
        name,
        tensor,
        s.names,
        layout ?? { rows: null, columns: null, sheets: null, depth: null },
        usual?.scale,
      );
}

/** The box of one head, or of a tensor without heads, at most so wide. */
export function boxOf(board: Board, name: string, title: string, given: Partial<BoxAsked> = {}): Box {
  const { s, look } = board;
  const { head = 0, words = false, most = 176, layout } = given;
  const usual = laidOut(s, name);
  const sheet = laidOut(s, name, { ...(layout ?? usual.layout), sheets: null });
  const box = measureBox(sheet, title, look, words);
  const heads = sheet.axes.findIndex((axis) => axis === "head" || axis === "key_value_head");
  const own =
    sheet.axes[heads] === "key_value_head" ? Math.floor((head * sheet.size("key_value_head")) / s.heads) : head;
  const faces = box.faces.map((face) => ({
    ...face,
    base: face.base.map((index, axis) => (axis === heads ? own : index)),
  }));
  const [w, h] = [Math.min(box.w, most), Math.min(box.h, TALLEST)];
  return {
    ...box,
    faces,
    w,
    h,
    height: box.height - box.h + h,
    width: Math.max(w + box.depth + 14, look.measure(title, 12) + 4),
  };
}

interface BoxAsked {
  readonly head: number;
  readonly words: boolean;
  readonly most: number;
  readonly layout: Arrangement;
}

/** An arrow from one place to another, to the right. */
export function arrow({ items, look }: Board, x: number, y: number, tx: number, ty: number): void {
  const bend = Math.max(8, (tx - x) / 2);
  const stroke = look.palette.quiet;
  const d = y === ty ? `M${x} ${y}H${tx}` : `M${x} ${y}C${x + bend} ${y} ${tx - bend} ${ty} ${tx} ${ty}`;
  items.push({ d, stroke, line: 1.5 });
  items.push({ d: `M${tx - 5} ${ty - 4}L${tx} ${ty}L${tx - 5} ${ty + 4}`, stroke, line: 1.5 });
}
