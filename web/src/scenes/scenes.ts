/** The tour's own pictures, by name: what the levels of the page do not draw. */

import type { Look } from "../draw/box.ts";
import type { Scene } from "../draw/scene.ts";
import type { Board } from "./board.ts";
import { drawProduct, drawRecap, drawShared } from "./boxes.ts";
import { drawCells } from "./cells.ts";
import { earlierReads } from "./earlier.ts";
import { drawEarlier } from "./earlier_keys.ts";
import { drawMixing } from "./mixing.ts";
import type { Scout } from "./scout.ts";
import { drawTwins } from "./twins.ts";

export interface TourScene {
  readonly title: string;
  /** What is seen, and what can be done. */
  readonly says: string;
  /** Tensors beside those of the attention that must be opened. */
  reads?(s: Scout): string[];
  /** Draws it; returns how high it is. */
  draw(board: Board): number;
}

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
  earlier: {
    title: "Keys, and the same keys one step earlier",
    says: "At the right what this page has computed with the same weights, without the last word.",
    reads: earlierReads,
    draw: drawEarlier,
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
