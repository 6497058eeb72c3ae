/** Six ways to take the vector of a word from the layers of a model, with the scores that a document prints. */

import { Pen } from "../../draw/pen.ts";
import { range } from "../../numbers/arithmetic.ts";
import { grouped, short } from "../../numbers/written.ts";
import type { Strategy } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { heard, say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { around, type Board, caption, drawGrid, drawText, frame, laidOut } from "../board/board.ts";
import { quotedOf } from "../board/shares.ts";
import {
  addendsOf,
  channelIn,
  drawWorked,
  layerName,
  layerTitle,
  numbersOf,
  reader,
  summed,
  sumText,
  vectorsIn,
  WORD_ASKED,
  widthOf,
} from "./vectors.ts";

const TITLES: Readonly<Record<string, string>> = {
  embedding: say`the embedding`,
  last: say`the last layer`,
  "second-to-last": say`the second-to-last layer`,
  "sum-all": say`sum of all blocks`,
  "sum-last-4": say`sum of the last four`,
  "concat-last-4": say`the last four side by side`,
};

const CELL = 42;

function named(s: Scout): string[] {
  return Object.keys(TITLES).filter((name) => vectorsIn(s).strategies[name] !== undefined);
}

export function STRATEGY_ASKED(s: Scout): Ask[] {
  const names = named(s);
  const options = names.map((name) => TITLES[name] ?? name);
  const usual = Math.max(names.indexOf("sum-last-4"), names.indexOf("sum-all"), 0);
  return [...WORD_ASKED(s), { label: say`strategy`, options, usual }];
}

export function drawStrategies(given: Board): number {
  const board = { ...given, s: reader(given.s) };
  const { s, look, width } = board;
  const { ink, quiet } = look.palette;
  const pen = new Pen(board.items);
  const [token = 0, chosen = 0] = board.at;
  const quoted = quotedOf(s, "six-strategies");
  const narrow = width < 560;
  const [left, above] = narrow ? [44, 40] : [232, 0];
  const height = narrow ? 76 : 56;
  const count = Math.max(1, Math.min(widthOf(s), Math.floor((width - left - (narrow ? 0 : 64)) / CELL)));
  const channels = around(channelIn(board), widthOf(s), count);
  const { text } = s.names.word(s.side, s.sentence, token);
  pen.text(narrow ? 0 : left, 14, say`${text}: channels ${channels[0]} to ${channels.at(-1)} of ${widthOf(s)}`, quiet);
  if (quoted !== undefined) pen.text(width, 14, say`printed F1`, quiet, { align: "right" });
  let y = 24;
  Object.entries(TITLES).forEach(([name, title]) => {
    const strategy = vectorsIn(s).strategies[name];
    const own = named(s).indexOf(name) === chosen;
    drawStack(board, strategy, 0, y + 2, 28, 40);
    pen.text(40, y + 16, title, strategy === undefined ? quiet : ink, { size: 14, bold: own });
    const says =
      strategy === undefined
        ? say`this model has too few blocks`
        : say`${name}, ${grouped(numbersOf(s, strategy))} numbers`;
    pen.text(40, y + 34, says, quiet);
    const printed = quoted?.shares[name];
    if (printed !== undefined) pen.text(width, y + 18, (100 * printed).toFixed(1), quiet, { size: 14, align: "right" });
    if (strategy !== undefined) drawStrip(board, strategy, token, channels, left, y + above + 6);
    if (own) frame(board, left, y + above + 6, channels.length * CELL, 24);
    y += height;
  });
  y = drawAddends(board, vectorsIn(s).strategies[named(s)[chosen] ?? ""], token, channels, y + 16);
  return quoted?.told === undefined ? y : drawText(board, 0, y + 12, heard(quoted.told));
}

/** The layers as bars, the embedding at the bottom; those that are read are filled. */
function drawStack(
  { s, look, items }: Board,
  strategy: Strategy | undefined,
  x: number,
  y: number,
  w: number,
  h: number,
): void {
  const { layers } = vectorsIn(s);
  const step = Math.min(8, h / layers.length);
  layers.forEach((_, layer) => {
    const read = strategy?.layers.some(([number]) => number === layer) === true;
    const fill = read ? look.palette.fill("residual") : look.palette.faint;
    items.push({ x, y: y + step * (layers.length - 1 - layer), w, h: Math.max(step - 1.5, 1), fill });
  });
}

/** The first numbers of the vector; those of one layer are the run's own. */
function drawStrip(
  board: Board,
  strategy: Strategy,
  token: number,
  channels: readonly number[],
  x: number,
  y: number,
): void {
  const { s } = board;
  const [first] = strategy.layers;
  const name = layerName(s, first?.[0] ?? 0);
  if (strategy.layers.length === 1 || strategy.concat) {
    const sheet = laidOut(s, name);
    const base = s.cell(name, { token, query: token });
    drawGrid(board, { sheet, base, x, y, cw: CELL, ch: 24, rows: [token], columns: channels });
    return;
  }
  channels.forEach((channel, column) => {
    const box = { x: x + column * CELL + 0.5, y: y + 0.5, w: CELL - 1, h: 23 };
    drawWorked(board, name, summed(addendsOf(s, strategy, channel, [token])), box);
  });
}

/** The vector of one strategy layer by layer, and how the number in hand is made. */
function drawAddends(
  board: Board,
  strategy: Strategy | undefined,
  token: number,
  channels: readonly number[],
  top: number,
): number {
  if (strategy === undefined) return top;
  const { s, look } = board;
  const pen = new Pen(board.items);
  const { ink, quiet } = look.palette;
  const { layers, concat } = strategy;
  const left = 88;
  const shown = channels.slice(0, Math.max(1, Math.floor((board.width - left) / CELL)));
  caption(
    board,
    0,
    top + 12,
    concat ? say`Side by side: nothing is added` : say`Channel by channel, layer by layer`,
    "residual",
  );
  let y = top + 24;
  for (const [layer] of layers.toReversed()) {
    const name = layerName(s, layer);
    pen.text(left - 8, y + 16, layerTitle(layer), quiet, { align: "right" });
    const base = s.cell(name, { token, query: token });
    drawGrid(board, { sheet: laidOut(s, name), base, x: left, y, cw: CELL, ch: 24, rows: [token], columns: shown });
    y += 24;
  }
  if (concat || layers.length === 1) return y + 8;
  pen.line(`M${left} ${y + 2}h${shown.length * CELL}`, ink);
  pen.text(left - 8, y + 22, "sum", ink, { align: "right", bold: true });
  shown.forEach((channel, column) => {
    const box = { x: left + column * CELL + 0.5, y: y + 6.5, w: CELL - 1, h: 23 };
    drawWorked(board, layerName(s, layers[0]?.[0] ?? 0), summed(addendsOf(s, strategy, channel, [token])), box);
  });
  const channel = channelIn(board);
  const addends = addendsOf(s, strategy, channel, [token]);
  return drawText(board, 0, y + 56, say`channel ${channel}: ${sumText(addends, 8)}`, ink);
}

/** The same as a table: the first numbers of each vector. */
export function strategiesTable(given: Scout, [token = 0]: readonly number[]): string[][] {
  const s = reader(given);
  const quoted = quotedOf(s, "six-strategies");
  const first = range(Math.min(8, widthOf(s)));
  const rows = named(s).map((name) => {
    const strategy = vectorsIn(s).strategies[name] ?? { layers: [], concat: false };
    const printed = quoted?.shares[name];
    return [
      name,
      strategy.layers.map(([layer]) => layer).join(" "),
      grouped(numbersOf(s, strategy)),
      printed === undefined ? "" : (100 * printed).toFixed(1),
      ...first.map((channel) => short(summed(addendsOf(s, strategy, channel, [token])), 5)),
    ];
  });
  return [
    [say`strategy`, say`layers`, say`numbers`, say`printed F1`, ...first.map((channel) => say`channel ${channel}`)],
    ...rows,
  ];
}
