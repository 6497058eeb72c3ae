/** Attention as products of matrices, and how one wide product is cut into heads and joined again. */

import { type Box, LINE, measureBox, namesColumns } from "../../draw/box.ts";
import { drawBox } from "../../draw/draw_box.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted, short } from "../../numbers/written.ts";
import { heard, say } from "../../words/say.ts";
import { type Board, boxOf, drawText, laidOut } from "../board/board.ts";
import { sign } from "../board/boxes.ts";

export const PROJECTED = ["query", "key", "value"];

/** Heads that are drawn apart; how many more there are is said. */
const APART = 4;

/** Boxes in a line, with signs between them, all at one height; returns where the next line begins. */
function line(board: Board, y: number, parts: readonly (Box | string)[]): number {
  const { look, items, panels } = board;
  const boxes = parts.filter((part) => typeof part !== "string");
  const centre = y + Math.max(...boxes.map((box) => box.top + box.h / 2));
  let [x, bottom] = [0, y];
  for (const part of parts) {
    if (typeof part === "string") {
      const wide = look.measure(part, 18) + 16;
      sign(board, x + wide / 2, centre, part);
      x += wide;
    } else {
      const top = centre - part.top - part.h / 2;
      drawBox(part, x + part.words, top, look, items, panels);
      x += part.words + part.width;
      bottom = Math.max(bottom, top + part.height);
    }
  }
  return bottom + 16;
}

const drawnWith = (board: Board): Board => ({ ...board, look: { ...board.look, side: 12, step: 4 } });

/** A table of weights, what comes in downwards. */
function tableOf(board: Board, name: string, title: string, most: number): Box {
  const [columns = null, rows = null] = board.s.names.axes(name);
  return low(boxOf(board, name, title, { layout: { rows, columns, sheets: null, depth: null }, most }));
}

/** A box that is no taller than a few words, so that the products stand on one screen. */
function low(box: Box): Box {
  const h = Math.min(box.h, 96);
  // No room for words above columns that are too narrow to have any.
  const top = namesColumns(box.sheet, box.w / box.sheet.columns) ? box.top : Math.min(box.top, LINE + 4 + box.depth);
  return { ...box, h, top, height: box.height - box.h + h - box.top + top };
}

export function drawMatrix(whole: Board): number {
  const board = drawnWith(whole);
  const { s, look, width } = board;
  const { head } = s.example;
  const [input = s.embed("sum")] = s.operands(s.of("query"));
  const most = Math.max(40, Math.min(176, (width - 200) / 3));
  let y = 0;
  for (const last of PROJECTED) {
    const name = s.of(last);
    const mark = last.slice(0, 1).toUpperCase();
    const all = measureBox(laidOut(s, name), mark, { ...look, largest: { width: most, height: 208 } }, false);
    const x = boxOf(board, input, "X", { words: true, most });
    y = line(board, y, [x, "×", tableOf(board, s.weight(name), `W_${mark}`, most), "=", all]);
  }
  const turned = { rows: "channel", columns: "key", sheets: null, depth: "sentence" };
  const scaled = s.formula(s.of("scaled"))?.rule["by"];
  const by = typeof scaled === "number" ? `÷ ${short(1 / scaled, 2)} =` : "=";
  const own = (last: string, title: string, words = false, layout?: typeof turned): Box => {
    return low(boxOf(board, s.of(last), title, { head, words, most, ...(layout === undefined ? {} : { layout }) }));
  };
  const rotated = s.has(s.of("query_rotated")) ? "_rotated" : "";
  const scores = typeof scaled === "number" ? "scaled" : "scores";
  y = line(board, y, [
    own(`query${rotated}`, say`Q, head ${head}`, true),
    "×",
    own(`key${rotated}`, "Kᵀ", false, turned),
    by,
    own(scores, heard("scores")),
  ]);
  y = line(board, y, [own("weights", say`softmax of them`, true), "×", own("value", "V"), "=", own("mixed", "Z")]);
  const d = s.size(s.of("query"), "channel");
  const says =
    typeof scaled === "number"
      ? say`Z = softmax(Q Kᵀ ÷ ${short(1 / scaled, 2)}) V; a query has ${counted(d, "number")}.`
      : say`Z = softmax(Q Kᵀ) V: this model does not divide its scores. A query has ${counted(d, "number")}.`;
  return drawText(board, 0, y + 8, says);
}

export function drawSplit(whole: Board): number {
  const board = drawnWith(whole);
  const { s, look, width } = board;
  const most = Math.max(40, Math.min(176, (width - 200) / 3));
  const heads = Math.min(s.heads, APART);
  const wide = Math.min(176, width / 4);
  const apart = (last: string, mark: string, words: boolean): Box[] =>
    range(heads, (head) => {
      const room = Math.max(24, Math.min(most, (width - 108 - wide) / heads - 24));
      return boxOf(board, s.of(last), `${mark} ${head}`, { head, words: words && head === 0, most: room });
    });
  const query = measureBox(
    laidOut(s, s.of("query")),
    say`Q, all heads`,
    { ...look, largest: { width: wide, height: 208 } },
    true,
  );
  const more = s.heads > heads ? say` The first ${heads} are drawn.` : "";
  const says = (y: number, text: string): number => drawText(board, 0, y + 14, text) - 4;
  let y = says(
    0,
    say`One product gives ${counted(s.heads * s.size(s.of("query"), "channel"), "number")} for each word; they are cut into ${counted(s.heads, "head")}.${more}`,
  );
  y = line(board, y, [query, "→", ...apart("query", "Q", false)]);
  y = says(y, say`Each head makes its own Z from its own queries, keys and values.`);
  y = line(board, y, [...apart("mixed", "Z", true)]);
  y = says(y, say`The Z of all heads are put side by side, and multiplied with W_O: the output O.`);
  return line(board, y, [
    boxOf(board, s.of("merged"), say`heads joined`, { words: true, most }),
    "×",
    tableOf(board, s.weight(s.of("output")), "W_O", most),
    "=",
    boxOf(board, s.of("output"), "O", { most }),
  ]);
}
