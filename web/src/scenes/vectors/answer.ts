/** From the vectors of a text to what the model answers, next to the picture of a document. */

import { Pen } from "../../draw/pen.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import type { Scout } from "../../scout/scout.ts";
import { heard, say } from "../../words/say.ts";
import { around, type Board, drawGrid, drawLine, laidOut } from "../board/board.ts";
import {
  type Asked,
  drawRead,
  drawReading,
  missing,
  poolingOf,
  secondFrom,
  tokensOf,
  wayOf,
} from "../board/reading.ts";
import { drawShares, printedShares, quotedOf, type Share } from "../board/shares.ts";

const HEAD = "sentence_head.";
const PROBABILITIES = `${HEAD}probabilities`;

/** What of the vectors is read. */
export const POOLED = {
  first: say`the first vector`,
  mean: say`the mean of all vectors`,
  max: say`the largest of each channel`,
  pair: say`the means of both texts, their difference and their product`,
};

/** The labels of the text, the likeliest first, each with its probability; none where the model has none for a text. */
export function labelsOf(s: Scout): Share[] {
  if (!s.has(PROBABILITIES)) return [];
  const all = range(s.size(PROBABILITIES, "label"), (label) => {
    const cell = s.cell(PROBABILITIES, { label, candidate: s.sentence });
    return {
      label: s.names.label(PROBABILITIES, "label", label, 0).text,
      value: at(s.tensor(PROBABILITIES), cell),
      cell,
    };
  });
  return all.sort((one, two) => two.value - one.value);
}

export function isPair(s: Scout): boolean {
  return s.has(PROBABILITIES) && wayOf(s) === "pair";
}

export function isLabelled(s: Scout): boolean {
  return s.has(PROBABILITIES);
}

/** The model's half of a picture: its shares, and what is drawn above them; returns where they begin. */
export interface Own {
  readonly s: Scout;
  readonly tensor: string;
  readonly shares: readonly Share[];
  above(asked: Asked): number;
}

const [BESIDE, GAP, BEFORE_BARS, AFTER_BARS] = [640, 40, 104, 48];

/** A picture with the document's half and, as far as this run has one, the model's own, with bars on one scale. */
export function drawBeside(
  board: Board,
  picture: string,
  frame: (text: string, second: string) => string,
  own: Own | null,
): number {
  const { look, width, s } = board;
  const { ink, quiet, text } = look.palette;
  const pen = new Pen(board.items);
  const quoted = quotedOf(s, picture);
  const beside = width >= BESIDE && own !== null && quoted !== undefined;
  const half = beside ? Math.floor((width - GAP) * 0.4) : width;
  const printed = quoted === undefined ? [] : printedShares(quoted);
  const most = Math.max(...[...printed, ...(own?.shares ?? [])].map(({ value }) => value));
  const unit = (half - BEFORE_BARS - AFTER_BARS) / most;
  let y = 0;
  if (quoted !== undefined) {
    pen.text(0, 14, say`In the document`, ink, { size: 14, bold: true });
    pen.text(0, 32, `${heard(quoted.source)}; ${quoted.picture}`, quiet);
    const words = frame(quoted.text, quoted.second ?? "").split(" ");
    const pieces = words.map((word) => [`${word} `, word === "[MASK]" ? text("hidden") : ink] as const);
    y = drawLine({ ...board, width: half }, 0, 60, pieces);
    y = drawShares(board, "", printed, 0, y, unit) + 16;
  }
  if (own === null) return y;
  const [x, top] = beside ? [half + GAP, 0] : [0, y + 8];
  pen.text(x, top + 14, say`This model`, ink, { size: 14, bold: true });
  pen.text(x, top + 32, say`${s.names.run.title}, its own text`, quiet);
  const bars = own.above({ x, y: top + 36, width: width - x, tokens: tokensOf(own.s), focus: missing(own.s)[0] ?? 0 });
  return Math.max(y, drawShares(board, own.tensor, own.shares, x, bars, unit)) + 8;
}

/** The model's own way from the text to its label. */
export function ownLabel(board: Board): Own {
  const { s } = board;
  return {
    s,
    tensor: PROBABILITIES,
    shares: labelsOf(s).slice(0, 6),
    above(asked) {
      const read = drawReading(board, asked);
      const pooling = poolingOf(s);
      const second = secondFrom(s) ?? -1;
      if (read.tokens.includes(second)) drawParting(board, read.left(second), asked.y, read.bottom);
      const pooled = `${HEAD}pooled`;
      const used = pooling === "first" ? read.tokens.slice(0, 1) : read.tokens;
      const said = s.has(pooled)
        ? say`${POOLED[pooling]}, through the pooler`
        : say`${POOLED[pooling]}, through the classifier, then softmax`;
      const y = drawRead(board, read, used, said);
      if (!s.has(pooled)) return y;
      const sheet = laidOut(s, pooled);
      const columns = around(0, sheet.size("channel"), 8);
      const cw = Math.min(40, asked.width / 8);
      drawGrid(board, { sheet, base: s.cell(pooled), x: asked.x, y, cw, ch: 20, rows: [s.sentence], columns });
      const below = { ...read, tokens: used, bottom: y + 20 - 8 };
      return drawRead(board, below, [], say`through the classifier, then softmax`);
    },
  };
}

/** Where the second text begins. */
function drawParting({ items, look }: Board, x: number, y: number, bottom: number): void {
  items.push({ d: `M${x} ${y + 8}v62M${x} ${y + 98}V${bottom}`, stroke: look.palette.ink, line: 2 });
}
