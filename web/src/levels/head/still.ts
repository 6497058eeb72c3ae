/** What does not change while a word is pointed at: the words, the lines of all of them, faint, and the square. */

import { cut } from "../../draw/box.ts";
import { blended } from "../../draw/colour.ts";
import type { Item, Scene } from "../../draw/scene.ts";
import { say } from "../../words/say.ts";
import { LEVEL, middle, type Plan, type Shown } from "./plan.ts";
import { drawSquare, round } from "./square.ts";
import { MOST, SHARE, strongest, type Weights } from "./weights.ts";

/** Lines of one colour are drawn together, by their strength. */
const BUCKETS = 12;
/** So many lines are drawn in a picture, and no more. */
const LINES = 3000;

/** What was drawn of all lines, to be said. */
export interface Drawn {
  readonly lines: number;
  readonly of: number;
  readonly mass: number;
}

/** How many lines a word may have. */
function mostOf({ heads, queries }: Shown): number {
  return Math.max(1, Math.min(MOST, Math.floor(LINES / (heads.length * queries.length))));
}

/** The lines that are drawn of a head, of those that could be, and the share of the weight that they hold. */
export function drawnOf(weights: Weights, shown: Shown): Drawn {
  let [lines, of, mass, whole] = [0, 0, 0, 0];
  if (weights.tokens.picture !== undefined) return { lines, of, mass };
  weights.queries.forEach((_, query) => {
    const row = weights.row(query);
    if (row === null) return;
    for (const weight of row) {
      whole += weight;
      if (weight > 0) of += 1;
    }
    for (const key of strongest(row, SHARE, mostOf(shown))) {
      lines += 1;
      mass += row[key] ?? 0;
    }
  });
  return { lines, of, mass: whole === 0 ? 0 : mass / whole };
}

export function stillScene(shown: Shown, plan: Plan): Scene {
  const items: Item[] = [];
  drawSquare(shown, plan, items);
  if (!shown.only) drawLines(shown, plan, items);
  if (!plan.dense) drawWords(shown, plan, items);
  drawHeads(shown, plan, items);
  return { width: plan.width, height: plan.height, items, panels: [] };
}

function drawLines(shown: Shown, plan: Plan, items: Item[]): void {
  const { heads, queries, palette } = shown;
  heads.forEach(({ weights, colour }, order) => {
    if (weights.tokens.picture !== undefined) return;
    const paths: string[] = Array.from({ length: BUCKETS }, () => "");
    queries.forEach((_, query) => {
      const row = weights.row(query);
      if (row === null) return;
      for (const key of strongest(row, SHARE, mostOf(shown))) {
        const bucket = Math.min(BUCKETS - 1, Math.floor(Math.sqrt(row[key] ?? 0) * BUCKETS));
        paths[bucket] += lineOf(shown, plan, query, key, order);
      }
    });
    paths.forEach((d, bucket) => {
      if (d === "") return;
      const root = (bucket + 0.5) / BUCKETS;
      const line = (plan.dense ? 0.5 : 1) + (plan.dense || heads.length > 1 ? 1.5 : 5) * root * root;
      items.push({ d, stroke: blended(palette.paper, colour, 0.05 + 0.2 * root), line });
    });
  });
}

/** The line from the word that looks to the word that is looked at; those of several heads lie side by side. */
export function lineOf(shown: Shown, plan: Plan, query: number, key: number, order: number): string {
  const { heads, queries, keys, rightToLeft } = shown;
  const apart = (order - (heads.length - 1) / 2) * Math.min(4, plan.pitch / (heads.length + 1));
  const from = round(middle(plan, query, queries.length, rightToLeft) + apart);
  const to = round(middle(plan, key, keys.length, rightToLeft) + apart);
  const [begin, end] = plan.lines;
  const half = round((begin + end) / 2);
  return plan.across
    ? `M${from} ${begin}C${from} ${half} ${to} ${half} ${to} ${end}`
    : `M${begin} ${from}C${half} ${from} ${half} ${to} ${end} ${to}`;
}

function drawWords(shown: Shown, plan: Plan, items: Item[]): void {
  for (const side of ["queries", "keys"] as const) {
    shown[side].forEach((_, place) => {
      items.push(wordItem(shown, plan, side, place, false));
    });
  }
}

/** A word at its place. */
export function wordItem(shown: Shown, plan: Plan, side: "queries" | "keys", place: number, bold: boolean): Item {
  const { palette, measure, rightToLeft } = shown;
  const units = shown[side];
  const { text = "", hidden = false } = units[place] ?? {};
  const at = middle(plan, place, units.length, rightToLeft);
  const [begin, end] = plan.lines;
  const level = plan.across && plan.words === LEVEL;
  const fill = hidden
    ? palette.text("hidden")
    : (side === "queries" || plan.dense) && !bold
      ? palette.quiet
      : palette.ink;
  const look = {
    text: cut(text, level ? plan.pitch - 6 : plan.words, measure),
    fill,
    bold,
  } as const;
  if (!plan.across) {
    const x = side === "queries" ? begin - 8 : end + 8;
    return { ...look, x, y: at + 4, align: side === "queries" ? "right" : "left" };
  }
  if (level) return { ...look, x: at, y: side === "queries" ? begin - 8 : end + 16, align: "center" };
  return { ...look, x: at + 4, y: side === "queries" ? begin - 4 : end + plan.words + 4, turned: true };
}

/** What the columns of words and digits are. */
function drawHeads(shown: Shown, plan: Plan, items: Item[]): void {
  const { heads, palette, own } = shown;
  const quiet = { fill: palette.quiet } as const;
  if (plan.across) {
    plan.digits.forEach((y, order) => {
      const head = heads[order];
      if (head === undefined) return;
      const text = head.block === "" ? head.name : `${head.block}, ${head.name}`;
      items.push({ ...quiet, x: plan.start - 8, y: y + 13, text, align: "right", bold: order === own });
    });
    return;
  }
  const [begin, end] = plan.lines;
  const y = plan.start - 12;
  items.push({ ...quiet, x: begin - 8, y, text: say`looks`, align: "right" });
  items.push({ ...quiet, x: end + 8, y, text: say`at` });
  plan.digits.forEach((x, order) => {
    const head = heads[order];
    if (head === undefined) return;
    const [right, line] = [x + plan.digitsWidth - 12, order === own ? 4 : 2];
    items.push({ ...quiet, x: right, y, text: head.name, align: "right", bold: order === own, fill: palette.ink });
    if (head.block !== "") items.push({ ...quiet, x: right, y: y - 16, text: head.block, align: "right" });
    const dash = head.dash === 0 ? {} : { dash: head.dash };
    items.push({ d: `M${x} ${y + 7}H${right}`, stroke: head.colour, line, ...dash });
  });
}
