/** Two squares of words by words: the products with what is forbidden, and the shares that the softmax leaves. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { inCell } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import type { Activity } from "./activity.ts";

/** What a square shows of a cell. */
interface Shown {
  readonly digits: string;
  readonly strength: number;
  readonly forbidden: boolean;
}

export interface Words {
  readonly text: readonly string[];
  readonly hidden: ReadonlySet<number>;
}

const [LEFT, TOP, APART] = [84, 92, 28];

/** From this size on a cell bears its number. */
const NUMBERED = 34;

/** The squares side by side where there is room, else below each other; `rows` of the second one are laid in. */
export function maskScene(
  { pairs, masked, allowed, weights }: Activity,
  words: Words,
  row: number,
  rows: number,
  palette: Palette,
  measure: Measure,
  { width, height }: { width: number; height: number },
): Scene {
  const count = words.text.length;
  const beside = width > 620;
  const room = beside ? (width - 2 * LEFT - APART - 2) / 2 : width - LEFT - 4;
  // Digits need room; without it a square is small enough to be seen whole.
  const side = Math.max(Math.min(40, room / count, Math.max(height / count, NUMBERED)), 6);
  const size = side * count;
  const items: Item[] = [];
  const panels: Panel[] = [];
  const most = Math.max(...pairs.flat().map(Math.abs), 1e-9);
  const products = (query: number, key: number): Shown => ({
    digits: inCell(masked[query]?.[key] ?? 0),
    strength: (Math.abs(pairs[query]?.[key] ?? 0) / most) ** 0.7,
    forbidden: allowed[query]?.[key] !== true,
  });
  const shares = (query: number, key: number): Shown => {
    const share = query < rows ? (weights[query]?.[key] ?? 0) : 0;
    return { digits: inCell(share), strength: share, forbidden: query < rows && allowed[query]?.[key] !== true };
  };
  [products, shares].forEach((shown, order) => {
    const [x, y] = beside ? [LEFT + order * (size + LEFT + APART), TOP] : [LEFT, TOP + order * (size + TOP + 12)];
    const title = order === 0 ? say`Product of each pair, −∞ where forbidden` : say`Share of each row`;
    items.push({ x: x - LEFT, y: y - TOP + 14, text: title, fill: palette.text("attention") });
    drawWords(words, x, y, side, row, palette, measure, items);
    for (let query = 0; query < count; query++) {
      for (let key = 0; key < count; key++)
        drawCell(shown(query, key), x + key * side, y + query * side, side, palette, items);
    }
    const frame = { x: x - 1, y: y + row * side - 1, w: size + 2, h: side + 2 };
    items.push({ ...frame, stroke: palette.ink, line: 1.5 });
    panels.push({
      tensor: "",
      ...{ x, y, w: size, h: size, rows: count, columns: count },
      cell: (query, key) => [order, query, key],
      find: ([which, query = 0, key = 0]) => (which === order ? [query, key] : null),
    });
  });
  const last = panels.at(-1);
  return { width, height: (last?.y ?? 0) + size + 8, items, panels };
}

function drawCell(
  { digits, strength, forbidden }: Shown,
  x: number,
  y: number,
  side: number,
  palette: Palette,
  items: Item[],
): void {
  const role = forbidden ? "hidden" : "attention";
  const shown = forbidden ? 0.1 : strength * 0.88;
  items.push({ x: x + 0.5, y: y + 0.5, w: side - 1, h: side - 1, fill: palette.cell(role, shown) });
  const middle = { x: x + side / 2, y: y + side / 2 };
  if (side >= NUMBERED) {
    const fill = palette.on(role, shown);
    items.push({ x: middle.x, y: middle.y + 4, text: digits, fill, align: "center" });
  } else if (forbidden && side >= 8) {
    // Without room for −∞ a stroke says it: not by colour alone.
    items.push({
      d: `M${x + 3} ${y + side - 3}L${x + side - 3} ${y + 3}`,
      stroke: palette.text(role),
      line: 1,
    });
  }
}

function drawWords(
  words: Words,
  x: number,
  y: number,
  side: number,
  row: number,
  palette: Palette,
  measure: Measure,
  items: Item[],
): void {
  const every = Math.ceil(13 / side);
  words.text.forEach((word, at) => {
    if (at % every !== 0 && at !== row) return;
    const hidden = words.hidden.has(at);
    const text = { text: cut(word, TOP - 32, measure), bold: hidden } as const;
    const fill = hidden ? palette.text("hidden") : palette.ink;
    const middle = (at + 0.5) * side + 4;
    items.push({ ...text, x: x - 8, y: y + middle, fill, align: "right" });
    if (at % every === 0) items.push({ ...text, x: x + middle, y: y - 6, fill, turned: true });
  });
}
