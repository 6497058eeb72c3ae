/** Weighted values, word after word: each value times its weight, and what they have added up to so far. */

import { cut } from "../../draw/box.ts";
import { at } from "../../numbers/safetensors.ts";
import { counted, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import {
  around,
  type Board,
  caption,
  DIGITS,
  drawCell,
  drawGrid,
  drawLine,
  drawText,
  drawWords,
  frame,
  LABEL,
  laidOut,
} from "../board/board.ts";
import { index } from "../board/cells.ts";

const SIGN = 28;

export function drawMixing(board: Board): number {
  const { s, look, width, items } = board;
  const [weights, value, mixed] = [laidOut(s, s.of("weights")), laidOut(s, s.of("value")), laidOut(s, s.of("mixed"))];
  const given = { query: index(board, "query"), key: index(board, "key"), head: index(board, "head") };
  const size = value.size("channel");
  const narrow = width < 560;
  const channels = around(0, size, narrow ? 3 : 6);
  const keys = around(given.key, value.size("key"), 8);
  const left = narrow ? 58 : LABEL;
  const cw = Math.min(46, (width - left - 2 * SIGN - 2) / (1 + 2 * channels.length));
  const ch = Math.min(26, cw);
  const top = 56;
  const [word] = [s.names.word(s.side, s.sentence, given.query).text];
  drawLine(board, 0, 16, [
    [say`What `, look.palette.quiet],
    [word, look.palette.ink, true],
    [say` takes in head ${given.head}`, look.palette.quiet],
  ]);
  const [xw, xv] = [left, left + cw + SIGN];
  const xp = xv + channels.length * cw + SIGN;
  drawWords(board, keys, left - 8, top, ch, false, left - 12);
  const along = { y: top, cw, ch, rows: keys };
  const weightBase = s.cell(weights.name, { ...given });
  drawGrid(board, {
    ...along,
    sheet: weights,
    base: weightBase,
    x: xw,
    rows: [given.query],
    columns: keys,
    turned: true,
    write: short,
  });
  const values = { ...along, sheet: value, base: s.cell(value.name, given), x: xv, columns: channels, write: short };
  drawGrid(board, values);
  caption(board, xw, top - 10, say`weight`, "attention");
  caption(board, xv, top - 10, say`value, head ${given.head}`, "value");
  caption(board, xp, top - 10, say`weight × value`, "value");
  const part = (key: number, channel: number): number => {
    return (
      at(weights.tensor, s.cell(weights.name, { ...given, key })) *
      at(value.tensor, s.cell(value.name, { ...given, key, channel }))
    );
  };
  keys.forEach((key, row) => {
    const y = top + row * ch + ch / 2 + 4;
    items.push({ x: xv - SIGN / 2, y, text: "×", size: 14, fill: look.palette.quiet, align: "center" });
    items.push({ x: xp - SIGN / 2, y, text: "=", size: 14, fill: look.palette.quiet, align: "center" });
    channels.forEach((channel, column) => {
      const box = { x: xp + column * cw + 0.5, y: top + row * ch + 0.5, w: cw - 1, h: ch - 1 };
      const product = part(key, channel);
      if (key > given.key) items.push({ ...box, fill: look.palette.faint });
      else drawCell(items, look, box, "value", value.strength(product), product, short);
    });
  });
  const next = keys.findIndex((key) => key > given.key);
  if (next >= 0) {
    const place = { x: xp + (channels.length * cw) / 2, y: top + (next + (keys.length - next) / 2) * ch + 4 };
    const text = cut(say`not added yet`, channels.length * cw - 8, look.measure);
    items.push({ ...place, text, fill: look.palette.quiet, align: "center" });
  }
  const below = top + keys.length * ch + 10;
  items.push({ x: xp, y: below - 5, w: channels.length * cw, h: 1, fill: look.palette.ink });
  const last = given.key === value.size("key") - 1;
  channels.forEach((channel, column) => {
    let sum = 0;
    for (let key = 0; key <= given.key; key++) sum += part(key, channel);
    const box = { x: xp + column * cw + 0.5, y: below + 0.5, w: cw - 1, h: ch - 1 };
    if (!last) drawCell(items, look, box, "value", value.strength(sum), sum, short);
  });
  if (last) {
    drawGrid(board, {
      ...{ sheet: mixed, base: s.cell(mixed.name, given), x: xp, y: below, cw, ch },
      ...{ rows: [given.query], columns: channels, write: short },
    });
  }
  items.push({
    ...{ x: xp - 8, y: below + ch / 2 + 4, align: "right", fill: look.palette.text("value") },
    text: last ? say`mixed value` : say`sum so far`,
    bold: true,
  });
  frame(board, xw, top + keys.indexOf(given.key) * ch, xp + channels.length * cw - xw, ch);
  return says(board, given, size - channels.length, cw >= DIGITS, below + ch + 32);
}

function says(
  board: Board,
  given: Readonly<Record<"query" | "key" | "head", number>>,
  more: number,
  digits: boolean,
  y: number,
): number {
  const { s, look } = board;
  const [ink, quiet] = [look.palette.ink, look.palette.quiet];
  const [word, from] = [given.query, given.key].map((token) => s.names.word(s.side, s.sentence, token).text);
  const next = drawLine(board, 0, y, [
    [say`${word} takes `, ink],
    [short(s.value(s.of("weights"), given)), look.palette.text("attention"), true],
    [say` × the value of ${from}.`, ink],
  ]);
  const others = more > 0 ? say`${counted(more, "more channel")} in the same way. ` : "";
  const rounded = digits ? say`Each number is rounded by itself; the sums are of the exact ones.` : "";
  return others + rounded === "" ? next : drawText(board, 0, next, others + rounded, quiet);
}
