/** A search as a picture: the source, then a column for each step. What went on is strong, what did not is thin. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { Pen } from "../../draw/pen.ts";
import type { Scene } from "../../draw/scene.ts";
import type { Label } from "../../formulas/names.ts";
import { short } from "../../numbers/written.ts";
import type { Spot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { type Fate, isStrong, type Node, type Search } from "./written/search.ts";

const [ROW, HEIGHT, TOP, GAP, SOURCE, LINE] = [26, 22, 28, 44, 136, 20];
const AROUND = 2;
/** A word has at most so many pixels. */
const WIDEST = 112;

/** A sign before a word that did not go on for another reason than its score; the legend names them. */
export const SIGNS: Readonly<Partial<Record<Fate, readonly [sign: string, text: string]>>> = {
  hopeless: ["–", say`given up: it could not win any more`],
  ended: ["■", say`ended, with too low a score`],
  forbidden: ["⊘", say`forbidden`],
  wordless: ["■", say`ended without the words that were asked for`],
  repeated: ["=", say`found by another group too`],
  cut: ["✂", say`left out of the draw`],
};

export function treeScene(
  search: Search,
  source: readonly Label[],
  palette: Palette,
  measure: Measure,
): { scene: Scene; spots: Spot[] } {
  const pen = new Pen();
  const bottom = drawSource(source, palette, measure, pen);
  const places = new Map<number, { x: number; y: number; w: number }>();
  const spots: Spot[] = [];
  const columns = search.columns.map((nodes) => ({
    nodes,
    w: Math.ceil(Math.max(...nodes.map((node) => widthOf(search, node, measure)))),
  }));
  const root = source.length === 0 ? 8 : SOURCE + 12;
  let x = root + GAP;
  columns.forEach(({ nodes, w }, step) => {
    const header = columns.length > 1 && step === 0 ? say`step 1` : String(step + 1);
    pen.text(x + 8, 14, header, palette.quiet);
    for (const [row, node] of nodes.entries()) places.set(node.number, { x, y: TOP + row * ROW, w });
    x += w + GAP;
  });
  const middle = TOP + HEIGHT / 2;
  for (let strength = 0; strength < 3; strength++) {
    for (const node of search.record.nodes) {
      const to = places.get(node.number);
      if (to === undefined || strengthOf(search, node) !== strength) continue;
      const from = node.parent === null ? { x: root, y: TOP, w: 0 } : places.get(node.parent);
      if (from === undefined) continue;
      const [ax, ay, bx, by] = [from.x + from.w, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
      const bend = (bx - ax) / 2;
      const d = `M${ax} ${ay}C${ax + bend} ${ay} ${bx - bend} ${by} ${bx} ${by}`;
      const look = [
        { stroke: palette.hair, line: 1, dash: 3 },
        { stroke: palette.quiet, line: 1.5 },
        { stroke: palette.ink, line: 4 },
      ] as const;
      pen.items.push({ d, ...(look[strength] ?? look[0]) });
    }
  }
  pen.rect(root - 4, middle - 4, 8, 8, palette.ink);
  for (const { nodes, w } of columns) {
    for (const node of nodes) {
      const place = places.get(node.number);
      if (place === undefined) continue;
      drawNode(search, node, place.x, place.y, w, palette, measure, pen);
      const label = say`step ${node.step + 1}: ${search.word(node)}, total ${short(node.total)}. ${search.why(node)}`;
      // The frame of the word in hand stands around its box, which may be as dark as the frame.
      const [sx, sy] = [place.x - AROUND, place.y - AROUND];
      spots.push({ id: String(node.number), x: sx, y: sy, w: w + 2 * AROUND, h: HEIGHT + 2 * AROUND, label });
    }
  }
  const rows = Math.max(1, ...columns.map(({ nodes }) => nodes.length));
  const height = Math.max(TOP + rows * ROW, bottom) + 4;
  return { scene: { width: Math.max(x - GAP + 8, root + GAP), height, items: pen.items, panels: [] }, spots };
}

/** 2 on the way to the best answer, 1 for what else went on, 0 for the others. */
function strengthOf(search: Search, node: Node): 0 | 1 | 2 {
  return search.best.has(node.number) ? 2 : isStrong(node) ? 1 : 0;
}

function drawNode(
  search: Search,
  node: Node,
  x: number,
  y: number,
  w: number,
  palette: Palette,
  measure: Measure,
  pen: Pen,
): void {
  const strength = strengthOf(search, node);
  pen.rect(x, y, w, HEIGHT, strength === 2 ? palette.ink : palette.paper);
  if (strength === 1) {
    pen.rect(x, y, w, HEIGHT, palette.faint);
    pen.frame(x + 0.5, y + 0.5, w - 1, HEIGHT - 1, palette.quiet);
  }
  const fill = strength === 2 ? palette.paper : strength === 1 ? palette.ink : palette.quiet;
  const bold = strength === 2;
  pen.text(x + 8, y + 16, wordOf(search, node, measure), fill, { size: 14, bold });
  pen.text(x + w - 8, y + 15, numberOf(search, node), fill, { align: "right", bold: node.fate === "answer" });
}

function widthOf(search: Search, node: Node, measure: Measure): number {
  return measure(wordOf(search, node, measure), 14, true) + 16 + measure(numberOf(search, node), 12, true) + 16;
}

function wordOf(search: Search, node: Node, measure: Measure): string {
  const sign = SIGNS[node.fate]?.[0];
  const word = cut(search.word(node), WIDEST, measure);
  return sign === undefined ? word : `${sign} ${word}`;
}

/** The total; of an answer its place among the answers and its score; of what is drawn the probability. */
function numberOf(search: Search, node: Node): string {
  const rank = search.ranks.get(node.number);
  if (rank !== undefined && search.record.settings.method === "beam") return say`answer ${rank}: ${short(node.score)}`;
  if (search.record.settings.method === "beam") return short(node.total, 2);
  return short(node.share ?? Math.exp(node.log_probability));
}

/** The words of the source in lines, from the right where they are read so; returns where they end. */
function drawSource(source: readonly Label[], palette: Palette, measure: Measure, pen: Pen): number {
  if (source.length === 0) return 0;
  const fromTheRight = source.filter(({ text }) => text.startsWith("\u2068")).length * 2 > source.length;
  pen.text(0, 14, say`the source`, palette.quiet);
  let [along, y] = [0, TOP + 15];
  for (const { text, hidden } of source) {
    const word = cut(text, SOURCE - 20, measure);
    const w = measure(word, 14);
    if (along > 0 && along + w > SOURCE) [along, y] = [0, y + LINE];
    const x = fromTheRight ? SOURCE - along - w : along;
    pen.text(x, y, word, hidden ? palette.text("hidden") : palette.ink, { size: 14 });
    along += w + 6;
  }
  return y + LINE;
}
