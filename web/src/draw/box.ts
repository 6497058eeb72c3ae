/** One tensor as a box: words downwards, channels to the right, each sentence partly hidden by the one before it. */

import { shortened } from "../numbers/letters.ts";
import { say } from "../words/say.ts";
import type { Palette } from "./colour.ts";
import type { Sheet } from "./sheet.ts";

export type Measure = (text: string, size: 12 | 14 | 18 | 28, bold?: boolean) => number;

/** What is the same for all boxes of a picture. */
export interface Look {
  readonly palette: Palette;
  readonly measure: Measure;
  /** The side of a full cell. */
  readonly side: number;
  /** How far each further sentence is moved up and to the right. */
  readonly step: number;
  /** The sentence in front. */
  readonly sentence: number;
  /** The word that is framed everywhere: its text and its place; −1 for none. */
  readonly text: string;
  readonly word: number;
  /** How large a face may be where a box has a picture to itself. */
  readonly largest?: Size;
  /** Neither words nor counts: the boxes next to it have them. */
  readonly bare?: true;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

const LARGEST: Size = { width: 176, height: 208 };
export const SENTENCES = 4;
export const [GAP, LABEL, LINE, HEAD_NAME] = [4, 64, 16, 44];

export interface Face {
  readonly dx: number;
  readonly dy: number;
  readonly base: readonly number[];
  readonly title: string;
}

/** A box that has been measured and can be drawn at a place. */
export interface Box {
  readonly sheet: Sheet;
  readonly title: string;
  /** The whole, with its name and its counts, without the words next to it. */
  readonly width: number;
  readonly height: number;
  /** The room that the words to the left take. */
  readonly words: number;
  /** Whether the words stand there, or only the number of the head. */
  readonly worded: boolean;
  readonly faces: readonly Face[];
  readonly w: number;
  readonly h: number;
  readonly depth: number;
  readonly top: number;
}

export function measureBox(sheet: Sheet, title: string, look: Look, withWords: boolean): Box {
  const { layout } = sheet;
  const square = layout.columns === "key";
  const count = sheet.size(layout.sheets);
  const behind = Math.min(sheet.size(layout.depth), SENTENCES) - 1;
  const depth = behind * look.step + (layout.depth === null ? 0 : look.step);
  const together = square ? 1 : count;
  const gaps = (together - 1) * GAP;
  const widest = look.largest?.width ?? (sheet.columns <= 16 ? 16 * look.side + gaps : LARGEST.width);
  const cell = Math.min(look.side, (widest - gaps) / (sheet.columns * together));
  const w = sheet.columns * cell;
  const h = Math.min(look.side * sheet.rows, square ? (w / sheet.columns) * sheet.rows : largestOf(look).height);
  const words = Math.max(withWords ? wordsWidth(sheet, look) : 0, square && count > 1 ? HEAD_NAME : 0);
  const columnWords = look.bare !== true && namesColumns(sheet, cell) ? columnLabels(sheet, look) : 0;
  const top = LINE + 4 + columnWords + depth;
  const faces: Face[] = [];
  const tall = Math.min(count, 4);
  for (let head = 0; head < count; head++) {
    const given = layout.sheets === null ? {} : { [layout.sheets]: head };
    const base = sheet.base({ sentence: look.sentence, ...given });
    const [dx, dy] = square
      ? [Math.floor(head / tall) * (w + depth + 12), (head % tall) * (h + depth + 12)]
      : [head * (w + GAP), 0];
    faces.push({ dx, dy, base, title: count > 1 && square ? say`head ${head}` : "" });
  }
  const last = faces.reduce((most, face) => ({ dx: Math.max(most.dx, face.dx), dy: Math.max(most.dy, face.dy) }), {
    dx: 0,
    dy: 0,
  });
  const width = Math.max(last.dx + w + depth + 14, look.measure(title, 12) + 4);
  return {
    sheet,
    title,
    width,
    height: top + last.dy + h + LINE + 2,
    words,
    worded: withWords && words > 0,
    faces,
    w,
    h,
    depth,
    top,
  };
}

function wordsWidth(sheet: Sheet, look: Look): number {
  const axis = sheet.layout.rows;
  if (axis === null || !namesWords(axis)) return 0;
  if (!namesRows(sheet, look)) return LABEL;
  let widest = 0;
  for (let row = 0; row < sheet.rows; row++) {
    const label = sheet.names.label(sheet.name, axis, row, look.sentence);
    widest = Math.max(widest, look.measure(label.text, 12, label.hidden));
  }
  return Math.min(Math.ceil(widest), LABEL) + 8;
}

export function namesWords(axis: string | null): boolean {
  return axis !== null && ["token", "query", "key", "place", "label", "vocabulary", "candidate"].includes(axis);
}

/** Whether there is room for the word of each row; where there is none, only the framed word is written. */
export function namesRows(sheet: Sheet, look: Look): boolean {
  return largestOf(look).height / sheet.rows >= 11;
}

function largestOf(look: Look): Size {
  return look.largest ?? LARGEST;
}

export function namesColumns(sheet: Sheet, cell: number): boolean {
  return namesWords(sheet.layout.columns) && cell >= 11;
}

function columnLabels(sheet: Sheet, look: Look): number {
  let widest = 0;
  for (let column = 0; column < sheet.columns; column++) {
    const label = sheet.names.label(sheet.name, sheet.layout.columns ?? "", column, look.sentence);
    widest = Math.max(widest, look.measure(label.text, 12));
  }
  return Math.min(Math.ceil(widest), LABEL) + 2;
}

/** A text cut to a width. */
export function cut(text: string, width: number, measure: Measure): string {
  if (measure(text, 12) <= width) return text;
  let letters = [...text].length - 1;
  while (letters > 1 && measure(shortened(text, letters), 12) > width) letters -= 1;
  return shortened(text, letters);
}
