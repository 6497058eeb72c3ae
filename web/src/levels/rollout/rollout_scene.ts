/** Rollout as pictures: a square of words for each block, and one word followed from block to block. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { strengthOf } from "../../draw/marks.ts";
import { Pen } from "../../draw/pen.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { pooled } from "../../measures/heads.ts";
import { inCell } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import type { Unit } from "../head/units.ts";

/** What is drawn: for each block the shares [word × what it is made of] of the words that are shown. */
export interface Content {
  readonly units: readonly Unit[];
  /** What words are made of: the same words, after them those of the encoder where the decoder reads them. */
  readonly keys: readonly Unit[];
  readonly blocks: readonly Float64Array[];
  /** The block, the word that is followed, and the word that it is looked up for. */
  readonly at: readonly [block: number, query: number, key: number];
}

const [LABEL, ROW, GAP, TOP] = [96, 20, 12, 20];
/** The largest small square, the largest cell of the large one and the largest large one. */
const [SMALL, CELL, LARGE] = [112, 24, 400];
/** So many words of a followed one have a row: those with the largest shares. */
export const FOLLOWED = 24;
const NAMED = 12;
/** Of more words the shares are so small that they have a digit more. */
const FINE = 32;

/** The words that have a row, in the order of the text. */
export function followedIn({ keys, blocks, at: [, query] }: Content): number[] {
  const last = blocks.at(-1)?.subarray(query * keys.length, (query + 1) * keys.length) ?? [];
  const order = [...keys.keys()].sort((one, two) => (last[two] ?? 0) - (last[one] ?? 0));
  return order.slice(0, FOLLOWED).sort((one, two) => one - two);
}

export function rolloutScene(content: Content, palette: Palette, measure: Measure, width: number): Scene {
  const pen = new Pen();
  const panels: Panel[] = [];
  const top = drawSmall(content, palette, width, pen, panels) + 24;
  const [block] = content.at;
  pen.text(0, top, say`followed from block to block`, palette.ink, { bold: true });
  const follow = drawFollowed(content, palette, measure, width, top + 8, pen);
  panels.unshift(follow.panel);
  const n = Math.max(content.keys.length, content.units.length);
  const left = follow.width + 40;
  const beside = width - left - LABEL >= Math.min(n * NAMED, 240);
  const [x, y] = beside ? [left, top] : [0, follow.bottom + 32];
  pen.text(x, y, say`all words after block ${block}`, palette.ink, { bold: true });
  const cell = Math.min(CELL, (width - x - LABEL - 4) / n, LARGE / n);
  const bottom = drawLarge(content, palette, measure, x, y + 8, cell, pen, panels);
  return { width, height: Math.max(follow.bottom, bottom) + 8, items: pen.items, panels };
}

/** All words after a block as one image, with a frame around the row that is followed. */
function square(
  content: Content,
  block: number,
  x: number,
  y: number,
  cell: number,
  palette: Palette,
  pen: Pen,
): Panel {
  const { units, keys, blocks, at } = content;
  const [rows, columns] = [units.length, keys.length];
  const [w, h] = [columns * cell, rows * cell];
  const [down, along] = [Math.min(rows, Math.ceil(h)), Math.min(columns, Math.ceil(w))];
  const shares = pooled(blocks[block] ?? [], rows, columns, down, along);
  const pixels = new Uint8ClampedArray(down * along * 4).fill(255);
  shares.forEach((share, place) => {
    const hidden = along === columns && keys[place % columns]?.hidden === true;
    pixels.set(palette.bytes(hidden ? "hidden" : "attention", strengthOf(share)), place * 4);
  });
  const image: Item = { x, y, w, h, columns: along, rows: down, pixels };
  pen.items.push(image);
  pen.frame(x - 0.5, y - 0.5, w + 1, h + 1, palette.hair);
  const row = { x: x - 1, y: y + at[1] * cell - 1, w: w + 2, h: Math.max(cell, 1) + 2 };
  pen.items.push({ ...row, stroke: palette.ink, line: 1 });
  return {
    ...{ tensor: "rollout", x, y, w, h, rows, columns },
    cell: (from, to) => [block, from, to],
    find: (cell) => (cell[0] === block ? [cell[1] ?? 0, cell[2] ?? 0] : null),
  };
}

function drawSmall(content: Content, palette: Palette, width: number, pen: Pen, panels: Panel[]): number {
  const { blocks, at, units, keys } = content;
  const room = Math.min(SMALL, Math.max(40, Math.floor(width / Math.max(blocks.length, 1)) - GAP));
  const cell = keys.length <= room ? Math.floor(room / keys.length) : room / keys.length;
  const [w, h] = [keys.length * cell, units.length * cell];
  const across = Math.max(1, Math.floor((width + GAP) / (w + GAP)));
  blocks.forEach((_, block) => {
    const [x, y] = [1 + (block % across) * (w + GAP), TOP + Math.floor(block / across) * (h + TOP + GAP)];
    const own = block === at[0];
    pen.text(x, y - 6, w < 56 ? String(block) : say`block ${block}`, own ? palette.ink : palette.quiet, { bold: own });
    panels.push(square(content, block, x, y, cell, palette, pen));
  });
  return Math.ceil(blocks.length / across) * (h + TOP + GAP);
}

function drawFollowed(
  content: Content,
  palette: Palette,
  measure: Measure,
  width: number,
  y: number,
  pen: Pen,
): { panel: Panel; width: number; bottom: number } {
  const { keys, blocks, at } = content;
  const query = at[1];
  const rows = followedIn(content);
  const w = Math.min(48, Math.max(8, Math.floor((width - LABEL) / Math.max(blocks.length, 1))));
  const start = y + 16;
  blocks.forEach((values, block) => {
    const x = LABEL + block * w;
    const every = Math.ceil(20 / w);
    const own = block === at[0];
    if (block % every === 0 || own) {
      pen.text(x + w / 2, start - 5, String(block), own ? palette.ink : palette.quiet, { align: "center", bold: own });
    }
    rows.forEach((key, row) => {
      const share = values[query * keys.length + key] ?? 0;
      const role = keys[key]?.hidden === true ? "hidden" : "attention";
      const strength = strengthOf(share) * 0.88;
      pen.rect(x + 0.5, start + row * ROW + 0.5, w - 1, ROW - 1, palette.cell(role, strength));
      if (w < (keys.length > FINE ? 42 : 34)) return;
      const fill = palette.on(role, strength);
      const text = keys.length > FINE && share > 0 ? share.toFixed(3) : inCell(share);
      pen.text(x + w / 2, start + row * ROW + 14, text, fill, { align: "center" });
    });
  });
  rows.forEach((key, row) => {
    const unit = keys[key];
    const fill = unit?.hidden === true ? palette.text("hidden") : key === query ? palette.ink : palette.quiet;
    const text = cut(unit?.text ?? "", LABEL - 8, measure);
    pen.text(LABEL - 8, start + row * ROW + 14, text, fill, { align: "right", bold: key === query });
  });
  const panel: Panel = {
    ...{ tensor: "rollout", x: LABEL, y: start, w: w * blocks.length, h: ROW * rows.length },
    ...{ rows: rows.length, columns: blocks.length },
    cell: (row, block) => [block, query, rows[row] ?? 0],
    find: (cell) => {
      const row = rows.indexOf(cell[2] ?? 0);
      return row < 0 || cell[1] !== query ? null : [row, cell[0] ?? 0];
    },
  };
  return { panel, width: LABEL + w * blocks.length, bottom: start + ROW * rows.length };
}

function drawLarge(
  content: Content,
  palette: Palette,
  measure: Measure,
  x: number,
  y: number,
  cell: number,
  pen: Pen,
  panels: Panel[],
): number {
  const { units, keys, at } = content;
  const named = cell >= NAMED;
  const start = y + (named ? 64 : 8);
  const left = x + LABEL;
  panels.push(square(content, at[0], left, start, cell, palette, pen));
  const fill = (unit: Unit, own: boolean): string => {
    return unit.hidden ? palette.text("hidden") : own ? palette.ink : palette.quiet;
  };
  if (named) {
    units.forEach((unit, place) => {
      const own = place === at[1];
      const text = cut(unit.text, LABEL - 12, measure);
      pen.text(left - 8, start + (place + 0.5) * cell + 4, text, fill(unit, own), { align: "right", bold: own });
    });
    keys.forEach((unit, place) => {
      const above = { x: left + (place + 0.5) * cell + 4, y: start - 6, turned: true } as const;
      pen.items.push({ ...above, text: cut(unit.text, 56, measure), fill: fill(unit, false) });
    });
  }
  return start + cell * units.length;
}
