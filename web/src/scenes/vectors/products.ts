/** A vector of a text times other numbers, product by product: the largest ones, each followed to the run's own numbers. */

import { Pen } from "../../draw/pen.ts";
import { range } from "../../numbers/arithmetic.ts";
import { grouped, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { type Board, drawCell, drawWords, laidOut } from "../board/board.ts";
import { type Addend, type Feature, numbersOf, pooled, summed, widthOf } from "./vectors.ts";

/** So many products are drawn. */
const MOST = 8;

export interface Product {
  readonly index: number;
  readonly addends: readonly Addend[];
  /** The number of the vector, and what it is multiplied with. */
  readonly value: number;
  readonly weight: number;
  readonly product: number;
}

/** All products, the largest first. */
export function productsOf(board: Board, feature: Feature, weights: ArrayLike<number>, scale = 1): Product[] {
  const { s } = board;
  const all = range(numbersOf(s, feature), (index): Product => {
    const addends = pooled(s, feature, index);
    const [value, weight] = [summed(addends) * scale, weights[index] ?? 0];
    return { index, addends, value, weight, product: value * weight };
  });
  return all.sort((one, two) => Math.abs(two.product) - Math.abs(one.product));
}

export function total(products: readonly Product[]): number {
  return products.reduce((sum, { product }) => sum + product, 0);
}

const [NAMES, ROW, CELL, WIDE, BAR] = [84, 26, 46, 176, 96];

/** The largest products in rows, and what the others add up to; returns where the next line begins. */
export function drawProducts(
  board: Board,
  feature: Feature,
  products: readonly Product[],
  weighed: string,
  top: number,
): number {
  const { s, look, width, panels } = board;
  const { palette } = look;
  const { ink, quiet } = palette;
  const pen = new Pen(board.items);
  const shown = products.slice(0, MOST);
  const many = Math.max(...shown.map(({ addends }) => addends.length));
  const narrow = width < 560;
  const bar = narrow ? 0 : BAR;
  const room = Math.max(CELL, width - NAMES - WIDE - 2 * bar);
  const cw = many === 1 ? CELL : Math.max(16, Math.min(22, Math.floor(room / many)));
  const count = Math.min(many, Math.floor(room / cw));
  const first = shown[0]?.addends.slice(0, count) ?? [];
  const words = many > 1 && feature.pooling === "mean" && feature.layers.length === 1 ? 64 : 0;
  if (words > 0)
    drawWords(
      board,
      first.map(({ token }) => token),
      NAMES,
      top + words - 6,
      cw,
      true,
      words - 10,
    );
  const head = top + Math.max(words, 16);
  const after = NAMES + cw * count + 8;
  pen.text(
    after,
    head - 6,
    many > 1 ? `${feature.pooling === "mean" ? say`mean` : say`sum`} × ${weighed}` : `× ${weighed}`,
    quiet,
  );
  const middle = after + WIDE + bar;
  const most = Math.max(...shown.map(({ product }) => Math.abs(product)), 1e-30);
  shown.forEach(({ index, addends, value, weight, product }, row) => {
    const y = head + row * ROW;
    const channel = index % widthOf(s);
    const layer = feature.concat ? `${feature.layers[Math.floor(index / widthOf(s))]?.[0] ?? 0}.` : "";
    pen.text(NAMES - 8, y + 17, say`channel ${layer}${channel}`, quiet, { align: "right" });
    addends.slice(0, count).forEach((addend, column) => {
      const sheet = laidOut(s, addend.name);
      const box = { x: NAMES + column * cw + 0.5, y: y + 0.5, w: cw - 1, h: ROW - 3 };
      drawCell(board.items, look, box, sheet.role, sheet.strength(addend.value), addend.value);
      const cell = [...addend.cell];
      panels.push({
        ...{ tensor: addend.name, ...box, rows: 1, columns: 1 },
        cell: () => cell,
        find: (wanted) => (wanted.join() === cell.join() ? [0, 0] : null),
      });
    });
    const text = `${many > 1 ? `${short(value)} ` : ""}× ${short(weight)} = `;
    pen.text(after, y + 17, text, ink);
    pen.text(after + look.measure(text, 12), y + 17, short(product), palette.text("attention"), { bold: true });
    if (bar === 0) return;
    const wide = (Math.abs(product) / most) * (bar - 8);
    const x = product < 0 ? middle - wide : middle;
    pen.rect(x, y + 7, Math.max(wide, 1), 10, palette.fill(product < 0 ? "query" : "key"));
  });
  if (bar > 0) pen.rect(middle, head - 2, 1, ROW * shown.length + 2, palette.hair);
  const y = head + ROW * shown.length;
  const left = products.slice(MOST);
  if (many > count) pen.text(NAMES, y + 14, say`${grouped(many - count)} more words are in each mean`, quiet);
  const others = left.length > 0 ? say`, the other ${grouped(left.length)} to ${short(total(left))}` : "";
  const told = say`These ${shown.length} products add up to ${short(total(shown))}${others}.`;
  pen.text(0, y + (many > count ? 32 : 16), told, quiet);
  return y + (many > count ? 48 : 32);
}
