/** What follows the word in hand: its lines, its digits, its row of the square; and what can be pointed at. */

import { blended } from "../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { inCell } from "../../numbers/written.ts";
import { middle, type Plan, type Shown } from "./plan.ts";
import { columnAt, everyNth, strengthOf } from "./square.ts";
import { lineOf, wordItem } from "./still.ts";
import { strongest } from "./weights.ts";

/** The row and column in hand, and from which side one looks: along the lines of the one, or against those of the other. */
export interface Aim {
  readonly query: number;
  readonly key: number;
  readonly side: "queries" | "keys";
}

/** A line of less weight is hardly seen. */
const FAINT = 0.01;

/** The names of the panels of words, in addition to that of the square, which is the tensor's. */
export const [LOOKING, LOOKED_AT] = ["#queries", "#keys"] as const;

export function handScene(shown: Shown, plan: Plan, aim: Aim): Scene {
  const items: Item[] = [];
  const ends = drawLines(shown, plan, aim, items);
  if (plan.dense) drawSomeWords(shown, plan, aim, ends, items);
  else drawWord(shown, plan, aim.side, aim.side === "queries" ? aim.query : aim.key, items);
  drawDigits(shown, plan, aim, ends, items);
  drawRow(shown, plan, aim, items);
  return { width: plan.width, height: plan.height, items, panels: panelsOf(shown, plan, aim) };
}

/** All lines of the word: the strongest in full colour, the others thin. Returns the other ends of the strongest. */
function drawLines(shown: Shown, plan: Plan, aim: Aim, items: Item[]): Map<number, number> {
  const { heads, queries, palette } = shown;
  const ends = new Map<number, number>();
  heads.forEach(({ weights, colour, dash }, order) => {
    const forth = aim.side === "queries";
    const row = forth
      ? (weights.row(aim.query) ?? [])
      : Float64Array.from(queries, (_, query) => weights.row(query)?.[aim.key] ?? 0);
    const strong = new Set(strongest(row));
    const line = (other: number): string => {
      return forth ? lineOf(shown, plan, aim.query, other, order) : lineOf(shown, plan, other, aim.key, order);
    };
    let [thin, thinnest] = ["", ""];
    for (let other = 0; other < row.length; other++) {
      const weight = row[other] ?? 0;
      if (weight <= 0 || strong.has(other)) continue;
      if (weight > FAINT) thin += line(other);
      else thinnest += line(other);
    }
    const width = plan.dense ? 0.5 : 1;
    items.push({ d: thinnest, stroke: blended(palette.paper, colour, 0.12), line: width });
    items.push({ d: thin, stroke: blended(palette.paper, colour, 0.4), line: width });
    // The strongest last, over the others.
    for (const other of [...strong].reverse()) {
      const weight = row[other] ?? 0;
      ends.set(other, Math.max(ends.get(other) ?? 0, weight));
      const stroke = blended(palette.paper, colour, 0.4 + 0.6 * Math.sqrt(weight));
      items.push({ d: line(other), stroke, line: 1 + 9 * weight, ...(dash === 0 ? {} : { dash }) });
    }
  });
  return ends;
}

/** The word in hand, on a ground of its own. */
function drawWord(shown: Shown, plan: Plan, side: "queries" | "keys", place: number, items: Item[]): void {
  const { palette, rightToLeft } = shown;
  const { pitch, words, lines } = plan;
  const at = middle(plan, place, shown[side].length, rightToLeft);
  const [begin, end] = lines;
  const [from, to] = side === "queries" ? [begin - 4 - words - 4, begin - 4] : [end + 4, end + 4 + words + 4];
  const [start, size] = [at - pitch / 2 + 1, pitch - 2];
  const ground = { fill: palette.faint } as const;
  if (plan.across) items.push({ ...ground, x: start, y: from, w: size, h: to - from });
  else items.push({ ...ground, x: from, y: start, w: to - from, h: size });
  items.push(wordItem(shown, plan, side, place, true));
}

/** Where there is no room for all: the words in hand, the strongest ends, then as many others as find room. */
function drawSomeWords(shown: Shown, plan: Plan, aim: Aim, ends: ReadonlyMap<number, number>, items: Item[]): void {
  for (const side of ["queries", "keys"] as const) {
    const count = shown[side].length;
    const taken: number[] = [];
    const write = (place: number, bold: boolean): void => {
      const at = middle(plan, place, count, shown.rightToLeft);
      if (taken.some((other) => Math.abs(other - at) < 14)) return;
      taken.push(at);
      items.push(wordItem(shown, plan, side, place, bold));
    };
    if (aim.side === side) write(side === "queries" ? aim.query : aim.key, true);
    else for (const [place] of [...ends].sort((one, two) => two[1] - one[1])) write(place, true);
    const every = everyNth(plan.pitch);
    for (let place = Math.floor(every / 2); place < count; place += every) write(place, false);
  }
}

/** How much the word in hand looks at each: a bar and digits; hollow where its line is not among the strongest. */
function drawDigits(shown: Shown, plan: Plan, aim: Aim, ends: ReadonlyMap<number, number>, items: Item[]): void {
  const { heads, keys, palette, rightToLeft } = shown;
  const [small, taken] = [plan.digitsWidth < 60, [] as number[]];
  const named = plan.dense && !plan.across ? [...ends].sort((one, two) => two[1] - one[1]).map(([key]) => key) : null;
  if (named !== null && aim.side === "keys") return;
  plan.digits.forEach((begin, order) => {
    const head = heads[order];
    const row = head?.weights.row(aim.query);
    if (head === undefined || row == null) return;
    const strong = new Set(strongest(row));
    taken.length = 0;
    for (const key of named ?? keys.keys()) {
      const value = row[key] ?? 0;
      const at = middle(plan, key, keys.length, rightToLeft);
      if (plan.dense && taken.some((other) => Math.abs(other - at) < 14)) continue;
      taken.push(at);
      const bold = strong.has(key);
      const text = value === 0 ? (shown.masked(aim.query, key) ? "0" : "0.000") : value.toFixed(3);
      const digits = { text, bold, fill: bold ? palette.ink : palette.quiet } as const;
      if (plan.across) {
        items.push({ ...digits, x: at, y: begin + 13, align: "center" });
        continue;
      }
      const right = begin + plan.digitsWidth - 12;
      items.push({ ...digits, x: right, y: at + 4, align: "right" });
      if (small) {
        if (bold) items.push({ x: right - 36 * value, y: at + 7, w: 36 * value, h: 3, fill: head.colour });
        continue;
      }
      const bar = { y: at - 4, h: 8 } as const;
      if (bold) items.push({ ...bar, x: begin, w: Math.max(38 * value, 1), fill: head.colour });
      else if (value > 0.02)
        items.push({ ...bar, x: begin + 0.5, w: 38 * value, stroke: blended(palette.paper, head.colour, 0.6) });
    }
  });
}

/** The row of the square that the digits are of, framed; its digits, where the cells have none. */
function drawRow(shown: Shown, plan: Plan, aim: Aim, items: Item[]): void {
  const { heads, keys, queries, palette, own } = shown;
  const { x, y, w, h } = plan.square;
  const [cw, ch] = [w / keys.length, h / queries.length];
  const frame = { stroke: palette.ink, line: 1.5 } as const;
  if (aim.side === "keys") {
    const at = x + columnAt(plan, shown, aim.key) * cw;
    items.push({ ...frame, x: at - 1, y: y - 1, w: Math.max(cw, 3) + 2, h: h + 2 });
    return;
  }
  items.push({ ...frame, x: x - 1, y: y + aim.query * ch - 1, w: w + 2, h: Math.max(ch, 3) + 2 });
  const row = heads[own]?.weights.row(aim.query);
  if (row == null || cw < 22 || cw >= 34 || ch < 14) return;
  keys.forEach((unit, key) => {
    const value = row[key] ?? 0;
    const text = inCell(value).replace(/^0\./, ".");
    const at = x + (columnAt(plan, shown, key) + 0.5) * cw;
    const fill = palette.on(unit.hidden ? "hidden" : "attention", strengthOf(value, keys.length) * 0.88);
    items.push({ x: at, y: y + (aim.query + 0.5) * ch + 4, text, fill, align: "center" });
  });
}

/** The square first, which the arrow keys move through, then the words. */
function panelsOf(shown: Shown, plan: Plan, aim: Aim): Panel[] {
  const { queries, keys, tensor, sentence, head, heads, own, rightToLeft } = shown;
  const weights = heads[own]?.weights;
  const at = (query: number, key: number): number[] => {
    const from = queries[query]?.tokens[0] ?? 0;
    const unit = keys[key];
    return [sentence, head, from, unit === undefined || weights === undefined ? 0 : weights.strongestIn(from, unit)];
  };
  const [lookedAt, looking] = [placesOf(keys), placesOf(queries)];
  const column = (place: number): number => (plan.across && rightToLeft ? keys.length - 1 - place : place);
  const square: Panel = {
    tensor,
    ...plan.square,
    rows: queries.length,
    columns: keys.length,
    cell: (row, place) => at(row, column(place)),
    find: ([one, two, query = -1, key = -1]) => {
      const [row, place] = [looking.get(query), lookedAt.get(key)];
      return one === sentence && two === head && row !== undefined && place !== undefined ? [row, column(place)] : null;
    },
  };
  const [begin, end] = plan.lines;
  const beyond = plan.across ? 0 : (plan.digits.at(-1) ?? end + 8 + plan.words) + plan.digitsWidth - end - 8;
  const none = (): null => null;
  const strip = (side: "queries" | "keys", from: number, deep: number): Panel => {
    const units = shown[side];
    const count = units.length;
    const long = plan.pitch * count;
    const place = (row: number, along: number): number => {
      return plan.across ? (rightToLeft ? count - 1 - along : along) : row;
    };
    const cell = (row: number, along: number): number[] => {
      const own = place(row, along);
      if (side === "keys") return at(aim.query, own);
      return at(own, strongest(weights?.row(own) ?? [], 0.01)[0] ?? 0);
    };
    const words = { tensor: side === "queries" ? LOOKING : LOOKED_AT, cell, find: none, frameless: true } as const;
    return plan.across
      ? { ...words, x: plan.start, y: from, w: long, h: deep, rows: 1, columns: count }
      : { ...words, x: from, y: plan.start, w: deep, h: long, rows: count, columns: 1 };
  };
  return [
    square,
    strip("queries", begin - plan.words - 8, plan.words + 8),
    strip("keys", end, plan.words + 8 + beyond),
  ];
}

function placesOf(units: Shown["keys"]): Map<number, number> {
  return new Map(units.flatMap((unit, place) => unit.tokens.map((token) => [token, place] as const)));
}
