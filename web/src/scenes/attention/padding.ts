/** Sentences of unequal length in one batch: what was filled in, what hides it, and that no real word notices it. */

import { cut } from "../../draw/box.ts";
import { Sheet } from "../../draw/sheet.ts";
import { MissingTensor } from "../../formulas/evaluator.ts";
import { range } from "../../numbers/arithmetic.ts";
import { sizeOf } from "../../numbers/safetensors.ts";
import { grouped, power } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { around, type Board, caption, drawGrid, drawText, drawWords, LABEL, laidOut } from "../board/board.ts";
import { paddedSide, realPlaces } from "../board/reading.ts";
import { aloneOf } from "../recomputed/alone.ts";

/** More weights than this are not fetched for a proof. */
const LARGEST = 30_000_000;
const SHOWN = 6;

export function readsAlone(s: Scout): string[] {
  const { formulas, weights } = s.names.run;
  const all = Object.values(weights).reduce((sum, shape) => sum + sizeOf(shape), 0);
  return [...formulas.map(({ name }) => name), ...(all > LARGEST ? [] : Object.keys(weights))];
}

export function drawPadding(board: Board): number {
  const { s, look, width, items } = board;
  const { quiet, ink } = look.palette;
  const side = paddedSide(s) ?? "inputs";
  const name = `${side}.real`;
  const real = laidOut(s, name, { rows: "sentence", columns: "token", sheets: null, depth: null });
  const narrow = width < 560;
  const sentences = around(s.sentence, real.rows, SHOWN);
  const places = around(0, real.columns, Math.floor(width / (narrow ? 40 : 56)));
  const cw = Math.min(80, Math.floor(width / places.length));

  // Every sentence with its words; what was filled in is striped and has no word.
  caption(board, 0, 12, say`the batch: 1 is a word, 0 was filled in`, "residual");
  let y = 24;
  for (const sentence of sentences) {
    places.forEach((token, place) => {
      const isReal = real.value([sentence, token]) !== 0;
      const word = isReal ? s.names.word(side, sentence, token).text : "padding";
      const [x, fill] = [place * cw, sentence === s.sentence ? ink : quiet];
      items.push({
        x: x + cw / 2,
        y: y + 14,
        text: cut(word, cw - 4, look.measure),
        fill: isReal ? fill : quiet,
        bold: isReal && sentence === s.sentence,
        align: "center",
      });
    });
    drawGrid(board, {
      sheet: real,
      base: [sentence, 0],
      x: 0,
      y: y + 20,
      cw,
      ch: 20,
      rows: [sentence],
      columns: places,
    });
    places.forEach((token, place) => {
      if (real.value([sentence, token]) === 0) stripes(board, place * cw, y + 20, cw, 20, 1);
    });
    y += 52;
  }
  const hidden = real.columns - places.length;
  if (hidden > 0) y = drawText(board, 0, y + 8, say`${hidden} more places to the right.`);

  // What the mask does to the weights of a sentence that is padded.
  const sentence = sentences.includes(s.sentence) && isPadded(s, side, s.sentence) ? s.sentence : firstPadded(s, side);
  y = drawMask(board, side, sentence, y + 24);
  return drawProof(board, side, sentence, y + 24);
}

function isPadded({ fetch }: Scout, side: Side, sentence: number): boolean {
  return realPlaces(fetch, side, sentence).length < (fetch(`${side}.real`)?.shape[1] ?? 0);
}

function firstPadded(s: Scout, side: Side): number {
  const count = s.fetch(`${side}.real`)?.shape[0] ?? 1;
  return range(count).find((row) => isPadded(s, side, row)) ?? 0;
}

/** Cells that nobody looks at, so many under each other, each with its zero. */
function stripes({ items, look }: Board, x: number, top: number, w: number, h: number, count: number): void {
  let d = "";
  for (let row = 0; row < count; row++) {
    for (let at = x + 6; at < x + w + h; at += 6) {
      const [from, to] = [Math.min(at, x + w), Math.max(at - h, x)];
      d += `M${from} ${top + row * h + (at - from)}L${to} ${top + row * h + (at - to)}`;
    }
  }
  items.push({ d, stroke: look.palette.hair, line: 1 });
  for (let row = 0; row < count; row++) {
    const [cx, cy] = [x + w / 2, top + row * h + h / 2];
    items.push({ x: cx - 6, y: cy - 7, w: 12, h: 14, fill: look.palette.paper });
    items.push({ x: cx, y: cy + 4, text: "0", fill: look.palette.quiet, align: "center" });
  }
}

function drawMask(board: Board, side: Side, sentence: number, top: number): number {
  const { s, width } = board;
  const found = s.names.run.formulas.find(({ name, keys }) => name.endsWith("attention.weights") && keys === side);
  if (found === undefined) return top;
  const sheet = laidOut(s, found.name);
  const head = Math.min(board.cell[1] ?? 0, sheet.size("head") - 1);
  const places = realPlaces(s.fetch, side, sentence);
  const last = places.at(-1) ?? 0;
  const queries = realPlaces(s.fetch, found.tokens, sentence).slice(0, 8);
  const keys = around(last, sheet.size("key"), width < 560 ? 6 : 14);
  const left = width < 560 ? 64 : 88;
  const cw = Math.min(46, (width - left - 2) / keys.length);
  caption(
    board,
    0,
    top,
    say`${s.names.place(found.name)}, head ${found.name.includes("cross") ? say`${head}, from decoder to encoder` : head}`,
    "attention",
  );
  const y = top + 72;
  drawWords(board, keys, left, y - 6, cw, true, LABEL - 8, { side, sentence });
  drawWords(board, queries, left - 8, y, 24, false, left - 12, { side: found.tokens, sentence });
  drawGrid(board, { sheet, base: [sentence, head, 0, 0], x: left, y, cw, ch: 24, rows: queries, columns: keys });
  keys.forEach((key, place) => {
    if (!places.includes(key)) stripes(board, left + place * cw, y, cw, 24, queries.length);
  });
  return drawText(
    board,
    0,
    y + queries.length * 24 + 24,
    say`Nobody may look at what was filled in: its weight is exactly 0, and each row still adds up to 1.`,
  );
}

/** The same sentence worked out alone. */
function drawProof(board: Board, side: Side, sentence: number, top: number): number {
  const { s, look, width, items } = board;
  const { quiet } = look.palette;
  try {
    const { tensors, real, count, blocks, largest } = aloneOf(s.names, s.fetch, sentence);
    const name = [...tensors.keys()]
      .filter(
        (each) =>
          each.includes(".blocks.") &&
          s.formula(each)?.axes === "sentence token channel" &&
          s.formula(each)?.tokens === side,
      )
      .at(-1);
    const token = real[side][Math.floor(real[side].length / 2)] ?? 0;
    const place = real[side].indexOf(token);
    const alone = tensors.get(name ?? "");
    if (name === undefined || alone === undefined) return top;
    const sheet = laidOut(s, name);
    const { text } = s.names.word(side, sentence, token);
    const left = width < 560 ? 64 : 88;
    const channels = Array.from(
      { length: Math.min(sheet.columns, Math.floor((width - left) / 46), 12) },
      (_, at) => at,
    );
    caption(board, 0, top, say`“${text}” after ${blocks === 0 ? say`the embedding` : s.names.place(name)}`, sheet.role);
    const both = [
      [say`in the batch`, sheet, sentence, token],
      ["alone", new Sheet(name, alone, s.names, sheet.layout, sheet.scale), 0, place],
    ] as const;
    both.forEach(([label, drawn, row, at], order) => {
      const y = top + 10 + order * 30;
      items.push({ x: 0, y: y + 16, text: label, fill: quiet });
      drawGrid(board, {
        sheet: drawn,
        base: [row, at, 0],
        x: left,
        y,
        cw: 46,
        ch: 24,
        rows: [at],
        columns: channels,
        apart: order === 1,
      });
    });
    const said = say`The sentence worked out again in this page without its padding: of ${grouped(count)} numbers of its real words none differs by more than ${power(largest)} of the largest in its tensor: rounding.`;
    return drawText(board, 0, top + 10 + 60 + 20, said, look.palette.ink);
  } catch (error) {
    if (!(error instanceof MissingTensor)) throw error;
    return drawText(
      board,
      0,
      top,
      say`To work the sentence out alone this page would need ${error.tensor}, which it does not carry.`,
    );
  }
}
