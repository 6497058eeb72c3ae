/** Where the parts of a head's picture stand: words, lines, digits and the square of all weights share their rows. */

import type { Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Unit } from "./units.ts";
import type { Weights } from "./weights.ts";

/** A head whose lines are drawn. */
export interface ShownHead {
  readonly name: string;
  /** The block it is in; empty where all are in the same one. */
  readonly block: string;
  readonly weights: Weights;
  readonly colour: string;
  /** The length of its dashes; 0 for a whole line: heads differ by more than their colour. */
  readonly dash: number;
}

/** What is drawn. */
export interface Shown {
  readonly heads: readonly ShownHead[];
  /** Which of them is in hand: its weights are the square. */
  readonly own: number;
  readonly queries: readonly Unit[];
  readonly keys: readonly Unit[];
  readonly tensor: string;
  readonly sentence: number;
  readonly head: number;
  /** Whether a row's unit may not look at a column's. */
  masked(query: number, key: number): boolean;
  /** Only the lines of the word in hand. */
  readonly only: boolean;
  readonly rightToLeft: boolean;
  readonly palette: Palette;
  readonly measure: Measure;
}

export interface Plan {
  readonly across: boolean;
  readonly width: number;
  readonly height: number;
  /** How much room each word takes, and where the first one begins. */
  readonly pitch: number;
  readonly start: number;
  /** Rows too narrow for a word each: some are named. */
  readonly dense: boolean;
  /** The room of the words, where the lines begin and end, and where the words that are looked at stand. */
  readonly words: number;
  readonly lines: readonly [number, number];
  readonly digits: readonly number[];
  readonly digitsWidth: number;
  readonly square: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
    readonly words: number;
  };
}

/** The least pitch at which each word is named. */
const NAMED = 14;
export const COLUMN_WORDS = 76;
/** How deep words are that stand across and are not turned. */
export const LEVEL = 20;

export function planOf(shown: Shown, width: number, across: boolean): Plan {
  return across ? acrossPlan(shown, width) : downPlan(shown, width);
}

function widest(units: readonly Unit[], measure: Measure, most: number): number {
  let found = 24;
  for (const unit of units) {
    if (found >= most) break;
    found = Math.max(found, measure(unit.text, 12, true));
  }
  return Math.min(Math.ceil(found), most);
}

function downPlan({ heads, queries, keys, measure }: Shown, width: number): Plan {
  const narrow = width < 560;
  const count = Math.max(queries.length, keys.length);
  // In a high window the picture is as high as it leaves room for its title and for what follows.
  const high = Math.max(368, (globalThis.innerHeight || 720) - 400);
  const roomy = Math.min(Math.max(Math.floor(high / count), NAMED), high > 480 ? 48 : 32);
  const pitch = roomy * count <= 72 * NAMED ? roomy : 608 / count;
  const dense = pitch < NAMED;
  const words = Math.max(widest(queries, measure, narrow ? 72 : 104), widest(keys, measure, narrow ? 72 : 104));
  const digitsWidth = heads.length <= (narrow ? 1 : 3) ? 92 : 48;
  const shownDigits = Math.min(heads.length, Math.max(1, Math.floor((width - 2 * words - 96) / digitsWidth)));
  const fixed = words + 8 + 8 + words + 8 + digitsWidth * shownDigits;
  const wordsOfSquare = words + 24;
  const beside = width - fixed - wordsOfSquare - 92;
  // Beside the lines, where its cells are not much narrower than they are high; else below them.
  const cell = Math.min(keys.length <= 12 ? pitch * 1.25 : pitch, beside / keys.length);
  const isBeside = !narrow && cell >= Math.min(pitch * 0.6, 14);
  const line = Math.min(
    Math.max(224, width / 5),
    Math.max(width - fixed - (isBeside ? wordsOfSquare + cell * keys.length + 4 : 0), 56),
  );
  const lines = [words + 8, words + 8 + line] as const;
  const start = isBeside && cell >= 11 ? COLUMN_WORDS + 8 : 40;
  const digits = range(shownDigits, (head) => lines[1] + 8 + words + 8 + head * digitsWidth);
  const tall = start + pitch * count;
  const common = { across: false, pitch, start, dense, words, lines, digits, digitsWidth };
  if (isBeside) {
    const x = fixed + line + wordsOfSquare;
    const square = { x, y: start, w: cell * keys.length, h: pitch * queries.length, words };
    return { ...common, width: Math.max(x + square.w + 2, 200), height: tall + 8, square };
  }
  const own = Math.min(40, (width - words - 12) / keys.length);
  const y = tall + 32 + (own >= 11 ? COLUMN_WORDS : 8);
  const row = own >= 18 ? Math.max(Math.min(own, 28), 18) : own;
  const square = { x: words + 8, y, w: own * keys.length, h: row * queries.length, words };
  return { ...common, width, height: y + square.h + 8, square };
}

/** Words side by side: those that look above, those that are looked at below, the square under these. */
function acrossPlan({ heads, queries, keys, measure }: Shown, width: number): Plan {
  const count = Math.max(queries.length, keys.length);
  const named = heads.map(({ block, name }) => measure(block === "" ? name : `${block}, ${name}`, 12, true));
  const side = Math.max(widest(queries, measure, 96), ...named) + 8;
  const room = widest([...queries, ...keys], measure, 64) + 10;
  const pitch = Math.min(Math.max(room, 28), (width - side - 4) / count);
  const dense = pitch < NAMED;
  const words = pitch >= room ? LEVEL : dense ? 64 : room;
  const lines = [words + 8, words + 8 + 128] as const;
  const first = lines[1] + words + 12;
  const digitsWidth = pitch >= 36 ? 18 : 0;
  const digits = digitsWidth === 0 ? [] : heads.map((_, head) => first + head * digitsWidth);
  const y = first + digits.length * digitsWidth + 16;
  const high = dense ? pitch : Math.min(Math.max(pitch, 16), 28);
  const square = { x: side, y, w: pitch * keys.length, h: high * queries.length, words: side - 8 };
  const common = { across: true, pitch, start: side, dense, words, lines, digits, digitsWidth, square };
  return { ...common, width: Math.max(side + pitch * count + 4, 200), height: y + square.h + 8 };
}

/** The middle of a row, or of a column of words that stand across. */
export function middle(plan: Plan, place: number, count: number, rightToLeft: boolean): number {
  const at = plan.across && rightToLeft ? count - 1 - place : place;
  return plan.start + plan.pitch * (at + 0.5);
}
