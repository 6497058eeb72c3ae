/** Scores built cell by cell: queries at the left, keys above, a score where they meet. */

import { range } from "../../numbers/arithmetic.ts";
import { more, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { around, type Board, caption, drawGrid, drawLine, drawWords, frame, LABEL, laidOut } from "./board.ts";

const GAP = 20;
const WORDS_ABOVE = 72;

export function drawCells(board: Board): number {
  const { s, look, width, items } = board;
  const [scores, query, key] = ["scores", s.has(s.of("query_rotated")) ? "query_rotated" : "query", keyName(board)].map(
    (last) => laidOut(s, s.of(last)),
  );
  if (scores === undefined || query === undefined || key === undefined) return 0;
  const given = { query: index(board, "query"), key: index(board, "key"), head: index(board, "head") };
  const size = query.size("channel");
  const narrow = width < 560;
  const channels = around(0, size, narrow || size > 6 ? 4 : 6);
  const rows = around(given.query, scores.size("query"), scores.size("query") > 6 ? 5 : 6);
  const columns = around(given.key, scores.size("key"), narrow ? 5 : 8);
  const left = narrow ? 58 : LABEL;
  const cw = Math.min(46, (width - left - GAP - 2) / (channels.length + columns.length));
  const ch = Math.min(26, cw);
  const x = left + channels.length * cw + GAP;
  const y = WORDS_ABOVE + channels.length * ch + GAP;
  drawWords(board, columns, x, WORDS_ABOVE - 6, cw, true);
  const base = { cw, ch, columns: channels };
  drawGrid(board, {
    ...base,
    sheet: key,
    base: s.cell(key.name, given),
    x,
    y: WORDS_ABOVE,
    rows: columns,
    turned: true,
  });
  drawWords(board, rows, left - 8, y, ch, false, left - 12);
  drawGrid(board, { ...base, sheet: query, base: s.cell(query.name, given), x: left, y, rows });
  drawGrid(board, {
    ...{ sheet: scores, base: s.cell(scores.name, given), x, y, cw, ch, rows, columns },
    shown: (row, column) => row < given.query || (row === given.query && column <= given.key),
  });
  caption(board, left, y - 8, say`query, head ${given.head}`, "query");
  items.push({
    x: x - 8,
    y: WORDS_ABOVE + 14,
    text: say`key`,
    fill: look.palette.text("key"),
    bold: true,
    align: "right",
  });
  frame(board, left, y + rows.indexOf(given.query) * ch, channels.length * cw, ch);
  frame(board, x + columns.indexOf(given.key) * cw, WORDS_ABOVE, cw, channels.length * ch);
  const end = x + columns.length * cw + 32;
  const below = y + rows.length * ch;
  if (width - end < 240) return sumLine(board, query.name, key.name, given, 0, below + 32);
  return Math.max(below + 8, sumLine(board, query.name, key.name, given, end, WORDS_ABOVE + 14));
}

function keyName({ s }: Board): string {
  return s.has(s.of("key_rotated")) ? "key_rotated" : "key";
}

/** The step of the number in hand along an axis. */
export function index(
  { s, tensor, cell }: Pick<Board, "s" | "tensor" | "cell">,
  axis: "query" | "key" | "head",
): number {
  const found = cell[s.names.axes(tensor).indexOf(axis)];
  return found ?? s.example[axis];
}

/** q · k + q · k + … = score. */
function sumLine(
  board: Board,
  query: string,
  key: string,
  given: Readonly<Record<"query" | "key" | "head", number>>,
  x: number,
  y: number,
): number {
  const { s, look } = board;
  const size = s.size(query, "channel");
  const [ink, quiet] = [look.palette.ink, look.palette.quiet];
  const shown = Math.min(size, 6);
  const pieces = range(shown, (channel) => {
    const [one, two] = [s.value(query, { ...given, channel }), s.value(key, { ...given, channel })];
    return [
      [channel === 0 ? "" : " + ", quiet],
      [one < 0 ? `(${short(one, 2)})` : short(one, 2), look.palette.text("query")],
      [" · ", quiet],
      [two < 0 ? `(${short(two, 2)})` : short(two, 2), look.palette.text("key")],
    ] as const;
  }).flat();
  const others = size > shown ? ([[say` + ${more(size - shown, size)} products`, quiet]] as const) : [];
  const score = s.number(s.of("scores"), given);
  const [asks, answers] = [given.query, given.key].map((token) => s.names.word(s.side, s.sentence, token).text);
  const next = drawLine(board, x, y, [[`${asks} → ${answers}:`, ink, true]]);
  return drawLine(board, x, next, [
    ...pieces.filter(([text]) => text !== ""),
    ...others,
    [` = ${score.text}`, look.palette.text("attention"), true],
  ]);
}
