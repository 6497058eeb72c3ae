/** A frozen encoder with a logistic regression on top: product by product from the vector of a text to its label. */

import { cut } from "../../draw/box.ts";
import { Pen } from "../../draw/pen.ts";
import { counted, grouped, percent, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { type Board, caption, drawText } from "../board/board.ts";
import { drawRead, drawReading, tokensOf } from "../board/reading.ts";
import { drawProducts, productsOf, total } from "./products.ts";
import { type Feature, layerTitle, reader } from "./vectors.ts";

/** As `glassformer/page/sections/related.py` writes it. */
export interface Probe extends Feature {
  readonly labels: readonly string[];
  readonly weights: readonly (readonly number[])[];
  readonly bias: readonly number[];
  readonly learned: {
    readonly from?: string;
    readonly texts?: number;
    readonly score?: string;
    readonly value?: number;
    readonly low?: number;
    readonly high?: number;
    readonly folds?: number;
    readonly baselines?: Readonly<Record<string, number>>;
  };
}

export const READS: Readonly<Record<Feature["pooling"], string>> = {
  first: say`the first vector`,
  mean: say`the mean of all vectors`,
  max: say`the largest number of each channel`,
  "last-token": say`the last vector`,
};

export function LABEL_ASKED(_: Scout, told: unknown): Ask[] {
  const { labels = [], weights = [] } = (told ?? {}) as Partial<Probe>;
  return weights.length > 1 ? [{ label: say`label`, options: labels, usual: 0 }] : [];
}

/** The score and the probability of each label; of two labels the second has the only score. */
export function answersOf(board: Board, probe: Probe): { label: string; score: number; probability: number }[] {
  const scores = probe.weights.map((row, at) => total(productsOf(board, probe, row)) + (probe.bias[at] ?? 0));
  const all = probe.labels.length === 2 ? [0, ...scores] : scores;
  const most = Math.max(...all);
  const sum = all.reduce((one, score) => one + Math.exp(score - most), 0);
  return probe.labels.map((label, at) => {
    const score = all[at] ?? 0;
    return { label, score, probability: Math.exp(score - most) / sum };
  });
}

export function drawRegression(given: Board): number {
  const board = { ...given, s: reader(given.s) };
  const probe = board.told as Probe;
  const { s, look, width } = board;
  const { palette } = look;
  const { ink, quiet } = palette;
  const pen = new Pen(board.items);
  const two = probe.weights.length === 1;
  const row = two ? 0 : (board.at[0] ?? 0);
  const label = probe.labels[two ? 1 : row] ?? "";
  const frozen = drawText(
    board,
    0,
    14,
    say`The encoder is frozen: the regression on top has moved none of its weights.`,
    ink,
  );
  const read = drawReading(board, { x: 0, y: frozen - 16, width: Math.min(width, 720), tokens: tokensOf(s) });
  const from = probe.layers.map(([layer]) => layerTitle(layer)).join(", ");
  const used =
    probe.pooling === "first"
      ? read.tokens.slice(0, 1)
      : probe.pooling === "last-token"
        ? read.tokens.slice(-1)
        : read.tokens;
  let y = drawRead(board, read, used, say`${READS[probe.pooling]} of ${from}`);
  const products = productsOf(board, probe, probe.weights[row] ?? []);
  caption(board, 0, y + 16, say`The score of ${label}: each number times its weight`, "attention");
  y = drawProducts(board, probe, products, say`weight`, y + 28);
  const bias = probe.bias[row] ?? 0;
  const score = total(products) + bias;
  y = drawText(board, 0, y + 8, say`${short(total(products))} + bias ${short(bias)} = score ${short(score)}`, ink);
  y = drawText(
    board,
    0,
    y,
    two ? say`The share of ${label} is 1 / (1 + exp(−score)).` : say`The shares are the softmax of all scores.`,
  );
  const names = Math.min(160, Math.max(...probe.labels.map((each) => look.measure(each, 12, true))) + 12);
  const answers = answersOf(board, probe).toSorted((one, other) => other.probability - one.probability);
  answers.slice(0, 6).forEach(({ label: name, probability }, place) => {
    const wide = Math.max(1, (Math.min(width, 480) - names - 56) * probability);
    pen.text(names - 8, y + 16, cut(name, names - 8, look.measure), ink, { align: "right", bold: place === 0 });
    pen.rect(names, y + 5, wide, 14, palette.fill("hidden"));
    pen.text(names + wide + 6, y + 16, percent(probability), palette.text("hidden"), { bold: place === 0 });
    y += 24;
  });
  if (answers.length > 6) {
    y += 16;
    pen.text(names, y, say`${answers.length - 6} more labels`, quiet);
  }
  return drawText(board, 0, y + 24, toldOf(s, probe));
}

/** Where the weights come from, and how well they do. */
function toldOf(s: Scout, { learned, weights, bias, strategy, pooling }: Probe): string {
  const own = weights.reduce((sum, row) => sum + row.length, 0) + bias.length;
  const { from = "", texts, score = "", value, low, high, folds = 0, baselines = {} } = learned;
  const of = texts === undefined ? "" : `, ${counted(texts, "text")}`;
  const said = [
    say`Trained: ${grouped(own)} numbers, on ${strategy}.${pooling} of ${from}${of}. Not trained: ${grouped(s.names.run.model.parameters)} weights.`,
  ];
  if (value !== undefined && low !== undefined && high !== undefined) {
    const beside = Object.entries(baselines).map(([name, each]) => `${name} ${percent(each)}`);
    said.push(
      say`On what each of ${folds} folds held out: ${score} ${percent(value)} (${percent(low)} to ${percent(high)}); ${beside.join(", ")}.`,
    );
  }
  return said.join(" ");
}

export function regressionTable(board: Board): string[][] {
  const rows = answersOf({ ...board, s: reader(board.s) }, board.told as Probe);
  return [
    ["label", say`score`, say`probability`],
    ...rows.map(({ label, score, probability }) => [label, short(score, 5), short(probability, 5)]),
  ];
}
