/** Two hidden words side by side: as the model computes them, and with zeros after the position is added. */

import { Sheet } from "../../draw/sheet.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { percent } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { around, type Board, caption, drawGrid, drawLine, drawWords, laidOut } from "../board/board.ts";
import { twinsOf } from "../recomputed/zeroed.ts";

const GAP = 40;

/** `both`: the second picture too. */
export function drawTwins(board: Board, both: boolean): number {
  const { s, width } = board;
  const beside = width >= 720;
  const room = beside ? (width - GAP) / 2 : width;
  const y = column(board, 0, 0, room, say`as this model does`, null);
  if (!both) return y;
  const { tensors } = twinsOf(s.names, s.fetch, s.sentence);
  const x = beside ? room + GAP : 0;
  return Math.max(y, column(board, x, beside ? 0 : y + 16, room, say`zeroed after adding`, tensors));
}

function column(
  board: Board,
  x: number,
  y: number,
  room: number,
  title: string,
  other: ReadonlyMap<string, Tensor> | null,
): number {
  const { s, look, items } = board;
  const tokens = s.hidden.slice(0, 2);
  items.push({ x, y: y + 14, text: title, size: 14, fill: look.palette.ink, bold: true });
  let down = y + 44;
  for (const [name, label] of [
    [s.embed("sum"), say`word + position`],
    [s.of("query"), say`query, head ${s.example.head}`],
    [s.of("mixed"), say`mixed values, head ${s.example.head}`],
  ] as const) {
    const usual = laidOut(s, name);
    const tensor = other?.get(name);
    const sheet = tensor === undefined ? usual : new Sheet(name, tensor, s.names, usual.layout, usual.scale);
    const channels = around(0, sheet.size("channel"), 6);
    const cw = Math.min(40, (room - 72 - 66) / channels.length);
    const ch = 24;
    caption(board, x + 72, down - 6, label, sheet.role);
    drawWords(board, tokens, x + 64, down, ch, false, 60);
    const base = s.cell(name);
    drawGrid(board, {
      sheet,
      base,
      x: x + 72,
      y: down,
      cw,
      ch,
      rows: tokens,
      columns: channels,
      apart: other !== null,
    });
    const same = equal(sheet, base, tokens);
    const text = same ? say`the same` : say`different`;
    const fill = same ? look.palette.text("hidden") : look.palette.quiet;
    const beside = { x: x + 72 + channels.length * cw + 8, y: down + ch + 4 };
    items.push({ ...beside, text, fill, bold: same });
    down += 2 * ch + 30;
  }
  return guesses(board, x, down + 2, other);
}

function equal(sheet: Sheet, base: readonly number[], [one = 0, two = 0]: readonly number[]): boolean {
  return range(sheet.columns).every((channel) => {
    return sheet.value(sheet.cell(base, one, channel)) === sheet.value(sheet.cell(base, two, channel));
  });
}

/** The two likeliest words at each of the two places. */
function guesses(board: Board, x: number, y: number, other: ReadonlyMap<string, Tensor> | null): number {
  const { s, look } = board;
  const tensor = other?.get("head.probabilities") ?? s.fetch("head.probabilities");
  if (tensor === undefined) return y;
  let line = y;
  for (const { given, word } of s.guesses.slice(0, 2)) {
    const [one, two] = likeliest(s, tensor, given["place"] ?? 0);
    line = drawLine(board, x, line, [
      [say`guess at ${typeof word === "string" ? word : word.text}: `, look.palette.quiet],
      [one ?? "", look.palette.text("hidden"), true],
      [`, ${two ?? ""}`, look.palette.quiet],
    ]);
  }
  return line;
}

function likeliest(s: Scout, tensor: Tensor, place: number): string[] {
  const shares = range(tensor.shape.at(-1) ?? 0, (id) => at(tensor, [place, id]));
  const order = [...shares.keys()].sort((one, two) => (shares[two] ?? 0) - (shares[one] ?? 0));
  return order.slice(0, 2).map((id) => `${s.names.run.words.vocabulary[id] ?? id} ${percent(shares[id] ?? 0)}`);
}
