/** A text as an encoder reads it: its tokens in a row, the blocks below them, the vector that each place leaves with. */

import { Pen } from "../../draw/pen.ts";
import type { Fetch } from "../../formulas/evaluator.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { counted } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { around, type Board, drawGrid, drawWords, laidOut } from "./board.ts";

/** The four ways of the notes to use an encoder (1:44:46). */
export type Way = "pair" | "one" | "answer" | "tags";

/** Which of them this run is; null where its model has no head for labels. */
export function wayOf(s: Scout): Way | null {
  if (s.has("token_head.logits")) return s.has("token_head.masked") ? "answer" : "tags";
  if (!s.has("sentence_head.logits")) return null;
  return secondFrom(s) === null ? "one" : "pair";
}

/** What of the vectors a head for the whole text reads: the first, the mean, the largest numbers, or both texts'. */
export function poolingOf(s: Scout): "first" | "mean" | "max" | "pair" {
  return (["mean", "max", "pair"] as const).find((each) => s.has(`sentence_head.${each}`)) ?? "first";
}

/** What a fact says of a token of the sentence in front; undefined where the run has no such fact. */
function factOf(s: Scout, name: string, token: number): number | undefined {
  const fact = s.fetch(`${s.side}.${name}`);
  if (fact === undefined) return undefined;
  return at(
    fact,
    fact.shape.slice(-2).map((size, axis) => Math.min(axis === 0 ? s.sentence : token, size - 1)),
  );
}

/** The tokens of the sentence in front, without padding. */
export function tokensOf(s: Scout): number[] {
  return s.all.filter((token) => factOf(s, "real", token) !== 0);
}

/** A token as the model reads it: `[MASK]` at a hidden place. */
export function written(s: Scout, token: number): string {
  return s.names.run.words[s.side][s.sentence]?.[token] ?? "";
}

/** Whether the segments are the cases of words, as a tagger may read them: more than the two texts of a pair have. */
export function readsCase(s: Scout): boolean {
  const segment = s.embed("segment");
  return s.has(segment) && factOf(s, "labelled", 0) !== undefined && (s.shape(s.weight(segment))[0] ?? 0) > 2;
}

/** Where the second of two texts begins, by segments, or else by the marks after each text; null where there is one. */
export function secondFrom(s: Scout): number | null {
  const tokens = tokensOf(s);
  const [first = 0, last] = tokens.filter((token) => /^(\[SEP\]|<\/s>)$/.test(written(s, token)));
  const marked = last === undefined || first === 0 ? null : first + 1;
  return tokens.find((token) => !readsCase(s) && factOf(s, "segments", token) === 1) ?? marked;
}

/** The first token of each word: those that a tagger was given a label for, else those that begin a word, hidden or not. */
export function labelled(s: Scout, tokens: readonly number[]): number[] {
  const begins = (token: number): boolean => !/^(##|\[.+\]$|<.+>$)/.test(written(s, token)) || isMissing(s, token);
  return tokens.filter((token) => factOf(s, "labelled", token) ?? Number(begins(token)));
}

/** The places of the sentence at which a word is missing. */
export function missing(s: Scout): number[] {
  return tokensOf(s).filter((token) => isMissing(s, token));
}

function isMissing(s: Scout, token: number): boolean {
  return s.isHidden(token) || /^(\[MASK\]|<mask>)$/.test(written(s, token));
}

/** The tensor with the vectors that leave the last block. */
export function lastStates(s: Scout): string {
  const own = s.names.run.formulas.filter(({ name, axes }) => {
    return name.startsWith(`${s.stack}.`) && axes === "sentence token channel";
  });
  return own.at(-1)?.name ?? "";
}

/** What the pictures of a run's answer must have at hand. */
export function answerReads(s: Scout): string[] {
  const { formulas, facts } = s.names.run;
  const heads = formulas.filter(({ unit }) => unit.endsWith("head") && !unit.startsWith("head"));
  return [lastStates(s), ...heads.map(({ name }) => name), ...Object.keys(facts)];
}

export interface Asked {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  /** The tokens that may be drawn; where there is no room for all, the first and those around `focus` are. */
  readonly tokens: readonly number[];
  readonly focus?: number;
  /** Slots at the end for a text that this run does not have, and what it is. */
  readonly slots?: string;
}

/** Where things are once a text has been drawn. */
export interface Read extends Pick<Asked, "x" | "width"> {
  readonly tokens: readonly number[];
  /** The left edge of a token's column. */
  left(token: number): number;
  readonly step: number;
  readonly bottom: number;
  readonly right: number;
}

// Narrower than a cell that bears digits: the vectors are seen here, and read at their own level.
const [WORDS, BLOCKS, CELL, NARROWEST, WIDEST, SLOTS, NAMES] = [72, 24, 14, 18, 36, 3, 72];

export function drawReading(board: Board, { x, y, width, tokens: all, focus = 0, slots }: Asked): Read {
  const { s, look } = board;
  const pen = new Pen(board.items);
  const { quiet, faint, ink } = look.palette;
  const empty = slots === undefined ? 0 : SLOTS;
  const room = width - NAMES;
  const most = Math.floor(room / NARROWEST) - empty;
  const [first = 0] = all;
  const near = around(all.indexOf(focus), all.length, most).map((place) => all[place] ?? 0);
  const tokens = near.includes(first) ? near : [first, ...near.slice(1)];
  const step = Math.min(WIDEST, room / (tokens.length + empty));
  const right = x + step * (tokens.length + empty);
  drawWords(board, tokens, x, y + WORDS - 6, step, true, WORDS - 12);
  pen.rect(x, y + WORDS, right - x, BLOCKS, faint);
  pen.text((x + right) / 2, y + WORDS + 16, counted(s.blocks, "block"), ink, { align: "center" });
  const name = lastStates(s);
  const sheet = laidOut(s, name);
  const columns = around(0, sheet.size("channel"), 3);
  const top = y + WORDS + BLOCKS + 4;
  drawGrid(board, { sheet, base: s.cell(name), x, y: top, cw: step, ch: CELL, rows: tokens, columns, turned: true });
  const bottom = top + columns.length * CELL;
  // What the rows are: the vectors go on below the last one.
  pen.text(right + 6, y + WORDS + 16, say`${columns.length} of ${sheet.size("channel")}`, quiet);
  columns.forEach((channel, row) => {
    pen.text(right + 6, top + row * CELL + 11, say`channel ${channel}`, quiet);
  });
  for (let slot = 1; slot <= empty; slot++) {
    const d = `M${right - slot * step + 2} ${top + 1}h${step - 4}V${bottom - 1}h${4 - step}z`;
    board.items.push({ d, stroke: quiet, line: 1, dash: 3 });
  }
  const place = { x: right - (SLOTS * step) / 2 + 4, y: y + WORDS - 6 };
  if (slots !== undefined) board.items.push({ ...place, text: slots, fill: quiet, turned: true });
  return { x, width, tokens, left: (token) => x + step * Math.max(tokens.indexOf(token), 0), step, bottom, right };
}

/** Marks vectors as read: a bar under each, and an arrow from there down to the next line, with a word about it. */
export function drawRead(board: Board, read: Read, used: readonly number[], text: string): number {
  const { ink, quiet } = board.look.palette;
  const pen = new Pen(board.items);
  for (const token of used) pen.rect(read.left(token) + 1, read.bottom + 2, read.step - 2, 4, ink);
  const [first = 0] = used;
  const middle = (read.left(first) + read.left(used.at(-1) ?? first) + read.step) / 2;
  pen.line(`M${middle} ${read.bottom + 10}v12`, quiet);
  pen.arrow(middle, read.bottom + 24, "down", quiet);
  const below = middle + 10 + board.look.measure(text, 12) > read.x + read.width;
  pen.text(below ? read.x : middle + 10, read.bottom + (below ? 36 : 20), text, quiet);
  return read.bottom + (below ? 46 : 30);
}

/** The places of a sentence that are no padding. */
export function realPlaces(fetch: Fetch, side: Side, sentence: number): number[] {
  const [real, ids] = [fetch(`${side}.real`), fetch(`${side}.ids`) ?? fetch(`${side}.vectors`)];
  const all = range((real ?? ids)?.shape[1] ?? 0);
  return real === undefined ? all : all.filter((token) => at(real, [sentence, token]) !== 0);
}

/** The side of which some sentence is padded. */
export function paddedSide(s: Scout): Side | undefined {
  return (["inputs", "decoder_inputs"] as const).find((side) => {
    const real = s.fetch(`${side}.real`);
    return real !== undefined && Array.from(real.data).some((each) => each === 0);
  });
}
