/** Boxes in columns by the way of the data, the columns in bands like lines of a text: where each box stands. */

import { type Box, cut, type Look, measureBox } from "../../draw/box.ts";
import type { Sheet } from "../../draw/sheet.ts";
import type { Formula } from "../../record/record.ts";

export interface Node {
  readonly formula: Formula;
  readonly sheet: Sheet;
  readonly from: readonly string[];
  column: number;
}

export interface Placed {
  readonly node: Node;
  readonly box: Box;
  readonly x: number;
  /** Below the top of its band. */
  readonly y: number;
  readonly band: number;
  /** Which column of its band. */
  readonly column: number;
}

/** One line of the picture. */
export interface Band {
  readonly tall: number;
  /** The rooms between its columns where a flow may go up or down: the first before all columns, the last after them. */
  readonly gaps: readonly (readonly [number, number])[];
}

interface Laid {
  readonly node: Node;
  readonly box: Box;
}

const [GAP, BETWEEN, MARGIN, END] = [36, 12, 20, 16];
/** At most so wide is a title with the names of what comes from another band. */
const TITLE = 168;

export function titleOf({ sheet: { names, name } }: Node): string {
  const title = names.title(name);
  return title.charAt(0).toUpperCase() + title.slice(1);
}

/** What a box is called that is fed from other bands: `Weights ← scores`; that its part is cross-attention, it says itself. */
export function withFrom(title: string, from: readonly Node[], look: Look, room = TITLE): string {
  if (from.length === 0) return title;
  const names = from.map(({ sheet: { names, name } }) => names.title(name).replace(/^cross-attention /, "")).join(", ");
  return cut(`${title} ← ${names}`, Math.max(room, look.measure(title, 12)), look.measure);
}

/** Each node's place, and the bands, in a width. */
export function bandsOf(nodes: readonly Node[], look: Look, width: number): { placed: Placed[]; bands: Band[] } {
  const columns: Node[][] = [];
  for (const node of nodes) {
    const found = columns[node.column];
    if (found === undefined) columns[node.column] = [node];
    else found.push(node);
  }
  const filled = columns.filter((found) => found !== undefined);
  const square = filled.map((column) => column.some(({ sheet }) => sheet.layout.columns === "key"));
  const laid = (column: Node[], place: number, begins: boolean): Laid[] => {
    const worded = begins || (square[place] === true && square[place - 1] !== true);
    return column.map((node) => {
      const from = begins ? nodes.filter(({ formula }) => node.from.includes(formula.name)) : [];
      const box = measureBox(node.sheet, withFrom(titleOf(node), from, look), look, worded);
      return { node, box };
    });
  };
  const first = filled.map((column, place) => laid(column, place, true));
  const further = filled.map((column, place) => laid(column, place, false));
  const placed: Placed[] = [];
  const bands: Band[] = [];
  const starts = breaksOf(filled, first, further, width);
  starts.forEach((start, band) => {
    const inside = filled.slice(start, starts[band + 1]).map((_, place) => {
      return (place === 0 ? first[start] : further[start + place]) ?? [];
    });
    const tall = Math.max(...inside.map(heightOf));
    const gaps: [number, number][] = [];
    let right = 0;
    inside.forEach((boxes, column) => {
      const words = wordsOf(boxes);
      const x = column === 0 ? words + MARGIN : right + Math.max(GAP, words + 26);
      gaps.push([right + 2, x - words - 8]);
      let y = (tall - heightOf(boxes)) / 2;
      for (const each of boxes) {
        placed.push({ ...each, x, y, band, column });
        y += each.box.height + BETWEEN;
      }
      right = x + wideOf(boxes);
    });
    gaps.push([right + 2, Math.max(right + 10, Math.min(width, right + GAP) - 2)]);
    bands.push({ tall, gaps });
  });
  return { placed, bands };
}

/** What a flow costs that is cut, in pixels of height: the page may be longer by so much for a flow that goes straight on. */
const CUT = 32;

/** Where the bands begin: the picture is as low as the width allows, and few flows are cut. */
function breaksOf(
  columns: readonly (readonly Node[])[],
  first: readonly Laid[][],
  further: readonly Laid[][],
  width: number,
): number[] {
  const place = new Map(columns.flatMap((column, at) => column.map(({ formula }) => [formula.name, at] as const)));
  const cutAt = (at: number): number => {
    const reads = columns.slice(at).flatMap((column) => column.flatMap(({ from }) => from));
    return reads.filter((name) => (place.get(name) ?? at) < at).length;
  };
  // The best way to lay out the columns from each one on.
  const best: { cost: number; next: number }[] = [];
  best[columns.length] = { cost: 0, next: columns.length };
  for (let start = columns.length - 1; start >= 0; start--) {
    let room = width - MARGIN - END - wideOf(first[start] ?? []) - wordsOf(first[start] ?? []);
    let tall = heightOf(first[start] ?? []);
    let found = { cost: Number.POSITIVE_INFINITY, next: start + 1 };
    for (let next = start + 1; next <= columns.length; next++) {
      const cost = tall + BETWEEN + CUT * cutAt(next) + (best[next]?.cost ?? 0);
      if (cost < found.cost) found = { cost, next };
      const boxes = further[next] ?? [];
      room -= Math.max(GAP, wordsOf(boxes) + 26) + wideOf(boxes);
      if (room < 0) break;
      tall = Math.max(tall, heightOf(boxes));
    }
    best[start] = found;
  }
  const starts: number[] = [];
  for (let at = 0; at < columns.length; at = best[at]?.next ?? columns.length) starts.push(at);
  return starts;
}

function wideOf(boxes: readonly Laid[]): number {
  return Math.max(0, ...boxes.map(({ box }) => box.width));
}

function wordsOf(boxes: readonly Laid[]): number {
  return Math.max(0, ...boxes.map(({ box }) => box.words));
}

function heightOf(boxes: readonly Laid[]): number {
  return boxes.reduce((sum, { box }) => sum + box.height, (boxes.length - 1) * BETWEEN);
}
