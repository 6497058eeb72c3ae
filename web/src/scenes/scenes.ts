/** Pictures of the documents and of the tour, by name: what the levels of the page do not draw. */

import type { FunctionComponent } from "preact";
import type { Look } from "../draw/box.ts";
import type { Scene } from "../draw/scene.ts";
import type { Scout } from "../scout/scout.ts";
import { say } from "../words/say.ts";
import { directionsTable, drawDirections } from "./attention/directions.ts";
import { drawMatrix, drawSplit, PROJECTED } from "./attention/matrix.ts";
import { drawMixing } from "./attention/mixing.ts";
import { drawStages, outputsOf } from "./attention/stages.ts";
import { drawTwoWords, readsOfBlock, TWO_WORDS, twoWordsTable } from "./attention/two_words.ts";
import type { Ask } from "./board/ask.ts";
import type { Board } from "./board/board.ts";
import { drawProduct, drawRecap, drawShared } from "./board/boxes.ts";
import { drawCells } from "./board/cells.ts";
import { answerReads } from "./board/reading.ts";
import { GradientsView } from "./gradients_view.tsx";
import { noIndex, noProbe, noStart, notShuffled, notTwo, padded, writes, zeroesNothing } from "./lacking.ts";
import { PrintedView } from "./printed_view.tsx";
import { earlierReads, noEarlier } from "./recomputed/earlier.ts";
import { small } from "./recomputed/forward.ts";
import { drawBeside, isLabelled, isPair, ownLabel } from "./vectors/answer.ts";
import { drawBlockOutputs } from "./vectors/block_outputs.ts";
import { drawFourWays } from "./vectors/four_ways.ts";
import { drawLookUp, drawnFrom, LOOK_UP } from "./vectors/look_up.ts";
import { drawSameWord, sameWordTable, TWO_PLACES } from "./vectors/same_word.ts";
import { drawSizes, sizesTable } from "./vectors/sizes.ts";
import { guesser, ownGuess, scored } from "./vectors/skit.ts";
import { drawStrategies, STRATEGY_ASKED, strategiesTable } from "./vectors/strategies.ts";
import { layersRead, noVectors, WORD_ASKED } from "./vectors/vectors.ts";

// A page whose run has none of these lacks them: each picture says so, in `lacks`, before it would be drawn.
const [sections, writing, { drawTwins }, { drawPadding, readsAlone }] = await Promise.all([
  import("./sections.ts"),
  import("./writing.ts"),
  import("./masked.ts"),
  import("./padding.ts"),
]);
const { drawNeighbours, NEAR_ASKED, neighboursTable, drawRegression, LABEL_ASKED, regressionTable } = sections;
const { drawTransfer, largestRead, transferTable, ShuffledView } = sections;
const { drawEarlier, drawWriting } = writing;

export interface TourScene {
  readonly title: string;
  /** What is seen, and what can be done. */
  readonly says: string;
  /** What it needs besides the tensors: see `page/sections/related.py`. `told` is null where this run has no such section. */
  readonly section?: string;
  /** Whether a text can be written above it. */
  readonly writes?: true;
  /** Why this run has no such picture, and what to do; null where it has. */
  lacks?(s: Scout, told: unknown): string | null;
  /** What can be chosen, in the order of the numbers of `at`. */
  asks?(s: Scout, told: unknown): readonly Ask[];
  /** Tensors besides those of the attention that must be opened. */
  reads?(s: Scout, at: readonly number[], told: unknown): string[];
  /** The picture of a document that is shown next to it: see `page/documents.toml`. */
  readonly document?: string;
  /** Whether it stands alone, for this run has nothing of the kind: the page says how a run is made that has. */
  alone?(s: Scout): boolean;
  /** Numbers of the picture that are no cells of the run, as a table: a row of headings, then rows. */
  table?(s: Scout, at: readonly number[], board: Board): string[][];
  /** Whether it is drawn with boxes, each sentence of the batch partly hidden by the one before it. */
  readonly boxes?: true;
  /** Whether the colour of a cell says how large its number is; usually it does. */
  readonly shades?: false;
  /** Draws it; returns how high it is. */
  draw?(board: Board): number;
  /** What stands in the place of a drawing. */
  readonly View?: FunctionComponent<{ readonly s: Scout; readonly told: unknown }>;
}

const known = (s: Scout, ...all: string[]): string[] => all.filter((name) => s.names.knows(name));
const first = (text: string): string => `[CLS] ${text}`;
const weights = (s: Scout): string[] => Object.keys(s.names.run.weights);

const noAttention = (s: Scout): string | null => (s.attends ? null : say`This run has no self-attention.`);

export const SCENES: Readonly<Record<string, TourScene>> = {
  cells: {
    title: say`Scores, cell by cell`,
    says: say`Arrow keys build the next scores. Enter opens the one in hand.`,
    draw: drawCells,
  },
  mixing: {
    title: say`Weighted values, word after word`,
    says: say`Arrow down adds the next word, arrow up takes the last one away.`,
    draw: drawMixing,
  },
  shared: {
    title: say`One table for the whole batch`,
    says: say`Every word of every sentence is multiplied with the same table of weights, W_Q.`,
    reads: (s) => s.operands(s.of("query")),
    boxes: true,
    draw: drawShared,
  },
  product: {
    title: say`One product of tensors with four dimensions`,
    says: say`Sentences are drawn one behind the other. Each head multiplies its own queries and keys.`,
    boxes: true,
    draw: drawProduct,
  },
  recap: {
    title: say`Attention on one page`,
    says: say`From X to the output O, head by head.`,
    boxes: true,
    draw: drawRecap,
  },
  twins: {
    title: say`Two hidden words`,
    says: say`Their vectors on the way through the model.`,
    lacks: notTwo,
    reads: weights,
    draw: (board) => drawTwins(board, false),
  },
  after: {
    title: say`Two hidden words, zeroed after their position was added`,
    says: say`At the right what this page has computed with the same weights and the zeros in the other place.`,
    lacks: (s) => zeroesNothing(s) ?? notTwo(s),
    reads: weights,
    draw: (board) => drawTwins(board, true),
  },
  sizes: {
    title: say`Base, Large and this model`,
    says: say`Blocks, width and heads on one scale. A block of this model can be opened, head by head.`,
    reads: (s) => s.ending("weights").map(({ name }) => name),
    table: sizesTable,
    shades: false,
    draw: drawSizes,
  },
  "four-ways": {
    title: say`Four ways to use one encoder`,
    says: say`The thick bar marks the vectors that each of them reads; their first channels are drawn. What is added to the encoder is one small layer.`,
    reads: answerReads,
    draw: drawFourWays,
  },
  "next-sentence": {
    title: say`Does the second text follow the first?`,
    says: say`One vector answers for both texts.`,
    document: "next-sentence",
    alone: (s) => !isPair(s),
    reads: answerReads,
    draw: (board) => {
      const framed = (text: string, second: string): string => `[CLS] ${text} [SEP] ${second} [SEP]`;
      return drawBeside(board, "next-sentence", framed, isPair(board.s) ? ownLabel(board) : null);
    },
  },
  spam: {
    title: say`One text, one label`,
    says: say`The first vector stands for the whole text. Outlined bars are printed in the document, filled ones are this run's.`,
    document: "spam",
    alone: (s) => !isLabelled(s),
    reads: answerReads,
    draw: (board) => drawBeside(board, "spam", first, isLabelled(board.s) ? ownLabel(board) : null),
  },
  skit: {
    title: say`Which word is at the hidden place?`,
    says: say`Every entry of the vocabulary gets a share. Outlined bars are printed in the document, filled ones are this run's.`,
    document: "skit",
    alone: (s) => scored(guesser(s)) === null,
    reads: (s) => [...answerReads(guesser(s)), ...known(s, "head.probabilities")],
    draw: (board) => drawBeside(board, "skit", first, ownGuess(board)),
  },
  directions: {
    title: say`Forward only, and both directions`,
    lacks: noAttention,
    says: say`A line through a cell: this word may not look there. Arrow keys choose the word that looks.`,
    reads: (s) => [
      ...known(s, "head.probabilities"),
      ...(small(s) ? [...s.names.run.formulas.map(({ name }) => name), ...weights(s)] : []),
    ],
    table: directionsTable,
    draw: drawDirections,
  },
  earlier: {
    title: say`Keys, and the same keys one step earlier`,
    says: say`At the right what this page has computed with the same weights, without the last word.`,
    lacks: noEarlier,
    reads: (s) => earlierReads(s.beside("decoder")),
    draw: (board) => drawEarlier({ ...board, s: board.s.beside("decoder") }),
  },
  "two-words": {
    title: say`Two words, from x to r`,
    says: say`The way of two words through one head and one block. Choose them above; each number can be opened.`,
    lacks: noAttention,
    asks: TWO_WORDS,
    reads: readsOfBlock,
    table: twoWordsTable,
    draw: drawTwoWords,
  },
  matrix: {
    title: say`Attention as products of matrices`,
    says: say`All words at once: X times three tables of weights, then the softmax of Q Kᵀ, times V.`,
    lacks: noAttention,
    reads: (s) => PROJECTED.flatMap((last) => s.operands(s.of(last))),
    boxes: true,
    draw: drawMatrix,
  },
  split: {
    title: say`Splitting into heads, and joining them`,
    says: say`One wide product is cut into heads; what they make is joined and multiplied with W_O.`,
    lacks: noAttention,
    reads: (s) => s.operands(s.of("output")),
    boxes: true,
    draw: drawSplit,
  },
  "look-up": {
    title: say`A word is looked up`,
    says: say`The word has a number, its id; the id is a row of the table; the row is the word’s vector.`,
    lacks: (s) => (drawnFrom(s) === null ? say`This run was given vectors: no word was looked up.` : null),
    asks: LOOK_UP,
    reads: (s) => drawnFrom(s)?.reads ?? [],
    draw: drawLookUp,
  },
  stages: {
    title: say`From a closed box to its blocks`,
    says: say`The same model three times: closed, opened once, opened twice. The strip in a block is its output for one word.`,
    reads: outputsOf,
    draw: drawStages,
  },
  writing: {
    title: say`Writing, word by word`,
    says: say`At each step the likeliest word is taken (argmax) and put after the words so far.`,
    lacks: writes,
    reads: () => ["head.probabilities"],
    shades: false,
    draw: drawWriting,
  },
  gradients: {
    title: say`The loss flows back`,
    says: say`The size of the gradient of the loss, part by part and word by word: how training knows what to change.`,
    View: GradientsView,
  },
  printed: {
    title: say`The printed scores`,
    says: say`Scores of queries and keys as the documents print them, divided by √d_k and shared out by softmax, next to the weights that they print. In the guide’s table the row “are” adds up to 1.1, and no d_k gives this table (C-30).`,
    lacks: (s) => (s.names.run.documents?.scores === undefined ? say`This page was written without them.` : null),
    View: PrintedView,
  },
  shuffled: {
    title: say`The words shuffled`,
    says: say`The same words in another order, read by the same weights with and without positions, under both masks.`,
    section: "shuffled",
    lacks: notShuffled,
    View: ShuffledView,
  },
  vectors: {
    title: say`Which vector for a word?`,
    says: say`Six ways to take one from the layers. Choose a word and a way; each number of a layer can be opened.`,
    document: "six-strategies",
    lacks: noVectors,
    asks: STRATEGY_ASKED,
    reads: layersRead,
    table: strategiesTable,
    draw: drawStrategies,
  },
  "block-outputs": {
    title: say`The outputs of all blocks as features`,
    says: say`What each block gives for each word, the last one above. Arrow keys: another number.`,
    lacks: noVectors,
    asks: WORD_ASKED,
    reads: layersRead,
    draw: drawBlockOutputs,
  },
  "same-word": {
    title: say`One word in two places`,
    says: say`Two vectors in each layer, and their cosine. Of two sentences with the same word: the words around it.`,
    lacks: noVectors,
    asks: TWO_PLACES,
    reads: layersRead,
    table: sameWordTable,
    draw: drawSameWord,
  },
  regression: {
    title: say`A frozen encoder and a logistic regression`,
    says: say`The label of the text, product by product. Each number of the vector can be opened; the weights are learned.`,
    section: "probe",
    writes: true,
    lacks: noProbe,
    asks: LABEL_ASKED,
    reads: layersRead,
    table: (_, __, board) => regressionTable(board),
    draw: drawRegression,
  },
  neighbours: {
    title: say`The nearest texts of an index`,
    says: say`The text in front is the question. Choose a text next to it: its score is a sum of products.`,
    section: "neighbours",
    writes: true,
    lacks: noIndex,
    asks: NEAR_ASKED,
    reads: layersRead,
    table: (_, __, board) => neighboursTable(board),
    draw: drawNeighbours,
  },
  transfer: {
    title: say`From one model to the next`,
    says: say`What was taken over, what is new, and how far training has moved each part. Enter: the weight that moved most.`,
    section: "moved",
    lacks: noStart,
    reads: largestRead,
    table: (_, __, board) => transferTable(board),
    shades: false,
    draw: drawTransfer,
  },
  padding: {
    title: say`Padding`,
    says: say`Shorter sentences are filled up to the longest. The mask hides what was filled in.`,
    lacks: padded,
    reads: (s) => (padded(s) === null ? readsAlone(s) : []),
    draw: drawPadding,
  },
};

/** What a picture is drawn for: the number in hand, what is chosen above it, and the section that it needs. */
interface Given {
  readonly tensor: string;
  readonly cell: readonly number[];
  readonly at?: readonly number[];
  readonly told?: unknown;
}

export function boardOf(name: string, s: Scout, look: Look, width: number, given: Given): Board {
  const at = chosen(name, s, given.at ?? [], given.told);
  return { s, look, width, ...given, at, items: [], panels: [] };
}

export function tourScene(name: string, s: Scout, look: Look, width: number, given: Given): Scene {
  const board = boardOf(name, s, look, width, given);
  const height = SCENES[name]?.draw?.(board) ?? 0;
  return { width, height: Math.ceil(height), items: board.items, panels: board.panels };
}

/** What is chosen above a picture: as the address says, else as usual. */
export function chosen(name: string, s: Scout, at: readonly number[], told: unknown = null): readonly number[] {
  const asks = SCENES[name]?.asks?.(s, told) ?? [];
  return asks.map(({ options, usual }, place) => Math.min(at[place] ?? usual, options.length - 1));
}
