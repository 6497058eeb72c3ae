/** A product of two tensors as boxes: the left one to the left, the right one above, their product where they meet. */

import { type Box, type Look, measureBox } from "../../../draw/box.ts";
import { drawBox } from "../../../draw/draw_box.ts";
import { frameOf, type Item, type Panel, type Scene } from "../../../draw/scene.ts";
import { type Arrangement, Sheet, sheetOf } from "../../../draw/sheet.ts";
import { isOperand } from "../../../formulas/evaluator.ts";
import type { Tensor } from "../../../numbers/safetensors.ts";
import { indexOf } from "../../../record/axes.ts";
import type { Operand } from "../../../record/record.ts";
import { say } from "../../../words/say.ts";
import { headsShown } from "./box_scene.ts";

const [BETWEEN, MARGIN] = [28, 20];

/** The three tensors of a product, each laid out as it stands in the picture. */
export interface Product {
  readonly left: Sheet;
  readonly right: Sheet;
  readonly made: Sheet;
  /** The cells of left and right that a cell of the product begins with. */
  operands(cell: readonly number[]): readonly [number[], number[]];
}

/** The names of the two tensors that are multiplied. */
export function multiplied(sheet: Sheet): readonly [Operand, Operand] | null {
  const rule = sheet.names.formulas.get(sheet.name)?.rule;
  const [left, right] = [rule?.["left"], rule?.["right"]];
  return isOperand(left) && isOperand(right) ? [left, right] : null;
}

export function productOf(sheet: Sheet, fetch: (name: string) => Tensor | undefined): Product | null {
  const found = multiplied(sheet);
  const over = String(sheet.names.formulas.get(sheet.name)?.rule["over"]);
  if (found === null) return null;
  const [left, right] = found.map(({ name }) => sheetOf(name, sheet.names, fetch));
  const [rows = "", columns = ""] = sheet.axes.slice(-2);
  if (left == null || right == null) return null;
  const laid = (of: Sheet, down: string, along: string): Sheet => {
    const own = (axis: string): string =>
      of.axes.includes(axis) ? axis : (of.axes.at(axis === rows ? -2 : -1) ?? axis);
    const layout: Arrangement = { rows: own(down), columns: own(along), sheets: null, depth: "sentence" };
    return new Sheet(of.name, of.tensor, of.names, layout, of.scale);
  };
  return {
    left: laid(left, rows, over),
    right: laid(right, over, columns),
    made: laid(sheet, rows, columns),
    operands: (cell) => {
      const named = Object.fromEntries(sheet.axes.map((axis, place) => [axis, cell[place] ?? 0]));
      const at = (operand: Operand, of: Sheet): number[] => {
        return indexOf(operand, of.tensor.shape, { ...named, [over]: 0 }, sheet.names.run.scored_at);
      };
      return [at(found[0], left), at(found[1], right)];
    },
  };
}

/** One group of three boxes for each head that is drawn. */
export function productScene(
  product: Product,
  sheet: Sheet,
  cell: readonly number[],
  look: Look,
  { width, height }: { width: number; height: number },
): Scene {
  const { left, right, made } = product;
  const heads = headsShown(sheet, cell, width > 700 ? 2 : 1);
  const step = Math.round(look.step * 0.6);
  const behind = Math.min(made.size("sentence"), 4) * step;
  const words = 84;
  const room = width / heads.length - words - MARGIN - 2 * behind - BETWEEN;
  const high = Math.max((height - 128 - 2 * behind) / (left.rows + right.rows), 18);
  const side = Math.min(look.side, room / (left.columns + made.columns), high);
  const large = { ...look, side, step, largest: { width: 1e4, height: 1e4 } };
  const items: Item[] = [];
  const panels: Panel[] = [];
  let [x, bottom] = [0, 0];
  const axis = sheet.axes.indexOf("head");
  for (const head of heads) {
    const here = cell.map((index, place) => (place === axis ? head : index));
    const [atLeft, atRight] = product.operands(here);
    const one = only(measureBox(left, say`${title(left)}, head ${head}`, large, true), atLeft);
    const two = only(measureBox(right, title(right), large, right.layout.rows === "key"), atRight);
    const three = only(measureBox(made, title(made), { ...large, bare: true }, false), here);
    const [rightTop, faceY] = [two.top, two.top + two.h + 24 + three.top];
    const faceX = x + words + one.w + behind + BETWEEN;
    drawBox(one, x + words, faceY - one.top, large, items, panels);
    drawBox(two, faceX, rightTop - two.top, { ...large, word: -1 }, items, panels);
    drawBox(three, faceX, faceY - three.top, { ...large, bare: true }, items, panels);
    frameColumns(panels.slice(-2), here, atRight, look, items);
    bottom = Math.max(bottom, faceY + one.h + 20);
    x += words + one.w + three.w + 2 * behind + BETWEEN + MARGIN;
  }
  return { width, height: bottom, items, panels };
}

function title(sheet: Sheet): string {
  return sheet.names.title(sheet.name);
}

/** A box with one face, which lies at a cell. */
function only(box: Box, base: readonly number[]): Box {
  return { ...box, faces: [{ dx: 0, dy: 0, base: box.sheet.cell(base, 0, 0), title: "" }] };
}

/** The column of the right box that meets the framed row at the cell in hand, and that cell's own column. */
function frameColumns(
  panels: readonly Panel[],
  cell: readonly number[],
  right: readonly number[],
  look: Look,
  items: Item[],
): void {
  for (const [panel, at] of [[panels[0], right] as const, [panels[1], cell] as const]) {
    const found = panel?.find(at);
    if (panel === undefined || found == null) continue;
    const { x, w } = frameOf(panel, 0, found[1]);
    const frame = { x: x - 1, y: panel.y - 1, w: w + 2, h: panel.h + 2 };
    items.push({ ...frame, stroke: look.palette.ink, line: 1.5 });
  }
}
