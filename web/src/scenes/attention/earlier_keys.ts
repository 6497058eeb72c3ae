/** The keys of the decoder, with its last word and without. */

import { Sheet } from "../../draw/sheet.ts";
import { say } from "../../words/say.ts";
import { around, type Board, caption, drawGrid, drawWords, LABEL, laidOut } from "../board/board.ts";
import { earlierOf, keysOf } from "../recomputed/earlier.ts";

const GAP = 40;
const [ROWS, COLUMNS, HEIGHT] = [12, 8, 24];

export function drawEarlier(board: Board): number {
  const { s, look, width } = board;
  const name = keysOf(s);
  const now = laidOut(s, name);
  const { was } = earlierOf(s);
  if (was === undefined) return 0;
  const then = new Sheet(name, was, s.names, now.layout, now.scale);
  const beside = width >= 560;
  const room = (beside ? (width - GAP) / 2 : width) - LABEL;
  const columns = around(0, now.size("channel"), COLUMNS);
  const cw = Math.min(44, Math.floor(room / columns.length));
  const base = s.cell(name);
  const rows = around(s.tokens - 1, s.tokens, ROWS);
  [now, then].forEach((sheet, order) => {
    const x = LABEL + (beside ? order * (columns.length * cw + LABEL + GAP) : 0);
    const y = 24 + (beside ? 0 : order * (rows.length * HEIGHT + GAP));
    const there = rows.slice(0, rows.length - order);
    caption(board, x, y - 8, order === 0 ? "key" : say`key, one step earlier`, sheet.role);
    drawWords(board, there, x - 8, y, HEIGHT, false);
    drawGrid(board, { sheet, base, x, y, cw, ch: HEIGHT, rows: there, columns, apart: order > 0 });
  });
  const last = beside ? 0 : rows.length * HEIGHT + GAP;
  const left = now.size("channel") - columns.length;
  const y = 24 + last + rows.length * HEIGHT;
  if (left > 0) {
    const text = say`${left} more numbers a word are not drawn`;
    board.items.push({ x: LABEL, y: y + 20, text, fill: look.palette.quiet });
  }
  return y + 28;
}
