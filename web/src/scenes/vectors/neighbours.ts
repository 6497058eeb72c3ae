/** The texts of an index nearest to the text in front, and the score of one of them as products of two vectors. */

import { cut } from "../../draw/box.ts";
import { Pen } from "../../draw/pen.ts";
import { counted, grouped, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { type Board, caption, drawText, frame } from "../board/board.ts";
import { drawProducts, productsOf, total } from "./products.ts";
import { READS } from "./regression.ts";
import { type Feature, layerTitle, numbersOf, pooled, reader, summed } from "./vectors.ts";

interface Near {
  readonly row: number;
  readonly id: string | null;
  readonly text: string;
  readonly vector: readonly number[];
}

/** As `glassformer/page/sections/related.py` writes it. */
export interface Neighbours extends Feature {
  readonly index: string;
  readonly texts: number;
  readonly near: readonly Near[];
}

/** So many texts are listed. */
const MOST = 8;

/** The vector of the text in front, and its length. */
export function question(s: Scout, feature: Feature): { numbers: Float64Array; length: number } {
  const numbers = Float64Array.from({ length: numbersOf(s, feature) }, (_, index) => summed(pooled(s, feature, index)));
  return { numbers, length: Math.sqrt(numbers.reduce((sum, value) => sum + value * value, 0)) || 1 };
}

/** The texts that the page has, the nearest first: the vectors of the index have length 1. */
export function ranked(s: Scout, told: Neighbours): { near: Near; score: number }[] {
  const { numbers, length } = question(s, told);
  const all = told.near.map((near) => {
    return { near, score: near.vector.reduce((sum, value, index) => sum + value * (numbers[index] ?? 0), 0) / length };
  });
  return all.sort((one, two) => two.score - one.score || one.near.row - two.near.row).slice(0, MOST);
}

export function NEAR_ASKED(given: Scout, told: unknown): Ask[] {
  if (told == null) return [];
  const found = ranked(reader(given), told as Neighbours);
  return [
    { label: say`beside`, options: found.map(({ near }, rank) => `${rank + 1}: ${near.text.slice(0, 16)}`), usual: 0 },
  ];
}

const ROW = 28;

export function drawNeighbours(given: Board): number {
  const board = { ...given, s: reader(given.s) };
  const told = board.told as Neighbours;
  const { s, look, width } = board;
  const { palette } = look;
  const { ink, quiet } = palette;
  const pen = new Pen(board.items);
  const [chosen = 0] = board.at;
  const found = ranked(s, told);
  const bar = width < 560 ? 0 : 96;
  const left = 76 + bar;
  let y = 8;
  found.forEach(({ near, score }, rank) => {
    pen.text(16, y + 18, String(rank + 1), quiet, { align: "right" });
    pen.text(64, y + 18, short(score), palette.text("attention"), { align: "right", bold: true });
    if (bar > 0) pen.rect(72, y + 8, Math.max(1, Math.max(0, score) * (bar - 8)), 12, palette.fill("attention"));
    const bold = rank === chosen;
    const said = cut(near.text, width - left - 12, (text, size) => look.measure(text, size, bold));
    pen.text(left, y + 18, said, ink, { bold });
    if (bold) frame(board, 2, y, width - 5, ROW);
    y += ROW;
  });
  const carried = told.near.length < told.texts ? say`, of which this page has ${grouped(told.near.length)}` : "";
  y = drawText(
    board,
    0,
    y + 20,
    say`${told.index}: ${counted(told.texts, "text")}${carried}. The score is the cosine of two vectors.`,
  );
  const near = found[chosen]?.near;
  if (near === undefined) return y;
  const { length } = question(s, told);
  const from = told.layers.map(([layer]) => layerTitle(layer)).join(", ");
  caption(board, 0, y + 16, say`The score of text ${chosen + 1}: number by number`, "attention");
  y = drawText(
    board,
    0,
    y + 36,
    say`The text in front: ${READS[told.pooling]} of ${from}, divided by its length ${short(length)}. The other numbers are those of the index, whose vectors have length 1.`,
  );
  const products = productsOf(board, told, near.vector, 1 / length);
  y = drawProducts(board, told, products, say`number of the index`, y);
  return drawText(board, 0, y + 8, say`All ${grouped(products.length)} products: score ${short(total(products))}`, ink);
}

export function neighboursTable(board: Board): string[][] {
  const found = ranked(reader(board.s), board.told as Neighbours);
  const rows = found.map(({ near, score }, rank) => [
    String(rank + 1),
    short(score, 5),
    String(near.row),
    near.id ?? "",
    near.text,
  ]);
  return [[say`rank`, say`score`, "row", "id", "text"], ...rows];
}
