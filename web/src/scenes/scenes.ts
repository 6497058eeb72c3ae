/** The tour's own pictures, by name: what the levels of the page do not draw. */

import type { Look } from "../draw/box.ts";
import type { Scene } from "../draw/scene.ts";
import { drawBeside, isLabelled, isPair, ownLabel } from "./answer.ts";
import type { Board } from "./board.ts";
import { drawProduct, drawRecap, drawShared } from "./boxes.ts";
import { drawCells } from "./cells.ts";
import { directionsTable, drawDirections } from "./directions.ts";
import { small } from "./forward.ts";
import { drawFourWays } from "./four_ways.ts";
import { drawMixing } from "./mixing.ts";
import { answerReads } from "./reading.ts";
import type { Scout } from "./scout.ts";
import { drawSizes, sizesTable } from "./sizes.ts";
import { guesser, ownGuess, scored } from "./skit.ts";
import { drawTwins } from "./twins.ts";

export interface TourScene {
  readonly title: string;
  /** What is seen, and what can be done. */
  readonly says: string;
  /** Tensors beside those of the attention that must be opened. */
  reads?(s: Scout): string[];
  /** The picture of a document that stands beside it: see `explorer/documents.toml`. */
  readonly document?: string;
  /** Whether this run has no such thing of its own: the page says how one is made that has. */
  lacks?(s: Scout): boolean;
  /** Numbers of the picture that are no cells of the run, as a table: a row of headings, then rows. */
  table?(s: Scout): string[][];
  /** Draws it; returns how high it is. */
  draw(board: Board): number;
}

const known = (s: Scout, ...all: string[]): string[] => all.filter((name) => s.names.knows(name));
const first = (text: string): string => `[CLS] ${text}`;
const weights = (s: Scout): string[] => Object.keys(s.names.run.weights);

export const SCENES: Readonly<Record<string, TourScene>> = {
  cells: {
    title: "Scores, cell by cell",
    says: "Arrow keys build the next scores. Enter opens the one in hand.",
    draw: drawCells,
  },
  mixing: {
    title: "Weighted values, word after word",
    says: "Arrow down adds the next word, arrow up takes the last one away.",
    draw: drawMixing,
  },
  shared: {
    title: "One table for the whole batch",
    says: "Every word of every sentence is multiplied with the same table.",
    reads: (s) => s.operands(s.of("query")),
    draw: drawShared,
  },
  product: {
    title: "One product of tensors with four dimensions",
    says: "Sentences stand behind each other. Each head multiplies its own queries and keys.",
    draw: drawProduct,
  },
  recap: {
    title: "Attention on one page",
    says: "From X to Z, head by head.",
    draw: drawRecap,
  },
  twins: {
    title: "Two hidden words",
    says: "Their vectors on the way through the model.",
    reads: weights,
    draw: (board) => drawTwins(board, false),
  },
  after: {
    title: "Two hidden words, zeroed after their position was added",
    says: "At the right what this page has computed with the same weights and the zeros in the other place.",
    reads: weights,
    draw: (board) => drawTwins(board, true),
  },
  sizes: {
    title: "Base beside Large, and this model",
    says: "Blocks, width and heads on one scale. A block of this model can be opened, head by head.",
    reads: (s) => s.ending("weights").map(({ name }) => name),
    table: sizesTable,
    draw: drawSizes,
  },
  "four-ways": {
    title: "Four ways to use one encoder",
    says: "The thick bar below marks the vectors that each of them reads. The encoder is the same; what is added is one small layer.",
    reads: answerReads,
    draw: drawFourWays,
  },
  "next-sentence": {
    title: "Does the second text follow the first?",
    says: "The first vector answers for both texts.",
    document: "next-sentence",
    lacks: (s) => !isPair(s),
    reads: answerReads,
    draw: (board) => {
      const framed = (text: string, second: string): string => `[CLS] ${text} [SEP] ${second} [SEP]`;
      return drawBeside(board, "next-sentence", framed, isPair(board.s) ? ownLabel(board) : null);
    },
  },
  spam: {
    title: "One text, one label",
    says: "The first vector stands for the whole text. Outlined bars are printed in the document, filled ones are this run's.",
    document: "spam",
    lacks: (s) => !isLabelled(s),
    reads: answerReads,
    draw: (board) => drawBeside(board, "spam", first, isLabelled(board.s) ? ownLabel(board) : null),
  },
  skit: {
    title: "What stands at the hidden place?",
    says: "Every entry of the vocabulary gets a share. Outlined bars are printed in the document, filled ones are this run's.",
    document: "skit",
    lacks: (s) => scored(guesser(s)) === null,
    reads: (s) => [...answerReads(guesser(s)), ...known(s, "head.probabilities")],
    draw: (board) => drawBeside(board, "skit", first, ownGuess(board)),
  },
  directions: {
    title: "Forward only, and both directions",
    says: "A line through a cell: this word may not look there. Arrow keys choose the word that looks.",
    reads: (s) => [
      ...["may_look", "masked", "weights", "scaled", "biased", "scores"]
        .map((last) => s.of(last))
        .filter((name) => s.has(name)),
      ...known(s, "head.probabilities", ...Object.keys(s.names.run.facts)),
      ...(small(s) ? [...s.names.run.formulas.map(({ name }) => name), ...weights(s)] : []),
    ],
    table: directionsTable,
    draw: drawDirections,
  },
};

export function tourScene(
  name: string,
  s: Scout,
  look: Look,
  width: number,
  hand: { readonly tensor: string; readonly cell: readonly number[] },
): Scene {
  const board: Board = { s, look, width, ...hand, items: [], panels: [] };
  const height = SCENES[name]?.draw(board) ?? 0;
  return { width, height: Math.ceil(height), items: board.items, panels: board.panels };
}
