/** The weights of the head in hand as a square, query by key: cells where there is room for them, else one image. */

import { cut } from "../../draw/box.ts";
import type { Item } from "../../draw/scene.ts";
import type { Role } from "../../formulas/names.ts";
import { digitsIn, shareInCell } from "../../numbers/apart.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Picture } from "../../numbers/dots.ts";
import { COLUMN_WORDS, type Plan, type Shown } from "./plan.ts";

/** How strongly a weight is coloured: as in all pictures; of a long text, whose weights are small, by their root. */
export function strengthOf(weight: number, keys: number): number {
  return Math.min(Math.max(weight, 0), 1) ** (keys > 32 ? 0.5 : 0.7);
}

/** Where a column stands: from the right where the text is read so. */
export function columnAt({ across }: Plan, { keys, rightToLeft }: Shown, key: number): number {
  return across && rightToLeft ? keys.length - 1 - key : key;
}

export function drawSquare(shown: Shown, plan: Plan, items: Item[]): void {
  const { queries, keys, palette } = shown;
  const { x, y, w, h } = plan.square;
  const [cw, ch] = [w / keys.length, h / queries.length];
  if (cw < 6 || ch < 6 || keys.length * queries.length > 2500) items.push(...imageOf(shown, plan));
  else drawCells(shown, plan, items);
  items.push({ x: x - 0.5, y: y - 0.5, w: w + 1, h: h + 1, stroke: palette.hair });
  drawWords(shown, plan, items, cw, ch);
}

function drawCells(shown: Shown, plan: Plan, items: Item[]): void {
  const { queries, keys, palette, heads, own } = shown;
  const { x, y, w, h } = plan.square;
  const [cw, ch] = [w / keys.length, h / queries.length];
  const digits = cw >= 34 && ch >= 15 ? digitsIn(queries.map((_, query) => heads[own]?.weights.row(query) ?? [])) : 0;
  let hatch = "";
  const grounds: Item[] = [];
  queries.forEach((_, query) => {
    const row = heads[own]?.weights.row(query);
    keys.forEach((unit, key) => {
      const value = row?.[key];
      const [cx, cy] = [x + columnAt(plan, shown, key) * cw, y + query * ch];
      const masked = shown.masked(query, key);
      if (masked) hatch += hatched(cx + 1, cy + 1, cw - 2, ch - 2);
      if (value === undefined) return;
      const role: Role = unit.hidden ? "hidden" : "attention";
      const strength = masked && value === 0 ? 0 : strengthOf(value, keys.length) * 0.88;
      items.push({ x: cx + 0.5, y: cy + 0.5, w: cw - 1, h: ch - 1, fill: palette.cell(role, strength) });
      if (digits === 0) return;
      if (masked) grounds.push({ x: cx + cw / 2 - 7, y: cy + ch / 2 - 8, w: 14, h: 16, fill: palette.paper });
      const text = {
        x: cx + cw / 2,
        y: cy + ch / 2 + 4,
        text: shareInCell(value, digits),
      } as const;
      items.push({ ...text, fill: masked ? palette.quiet : palette.on(role, strength), align: "center" });
    });
  });
  if (hatch === "") return;
  // Under the digits.
  const first = items.findIndex((item) => "text" in item);
  const pattern: Item = { d: hatch, stroke: palette.cell("residual", 0.35), line: 1 };
  const texts = first < 0 ? [] : items.filter((item) => "text" in item);
  const others = items.filter((item) => !("text" in item));
  items.splice(0, items.length, ...others, pattern, ...grounds, ...texts);
}

/** Slanted lines, 6 apart, within a cell. */
function hatched(x: number, y: number, w: number, h: number): string {
  let d = "";
  for (let step = 6 - ((x + y) % 6); step < w + h; step += 6) {
    const [x0, y0] = step < h ? [x, y + step] : [x + step - h, y + h];
    const [x1, y1] = step < w ? [x + step, y] : [x + w, y + step - w];
    d += `M${round(x0)} ${round(y0)}L${round(x1)} ${round(y1)}`;
  }
  return d;
}

export function round(number: number): number {
  return Math.round(number * 10) / 10;
}

/** Dots of the screen for each pixel of the page. */
function ratio(): number {
  return Math.max(1, globalThis.devicePixelRatio || 1);
}

/** At most a dot for each dot of the screen; where several cells share one, the largest is seen. Masked cells have stripes. */
function imageOf(shown: Shown, plan: Plan): Item[] {
  const { queries, keys, palette, heads, own } = shown;
  const { x, y, w, h } = plan.square;
  const picture = heads[own]?.weights.tokens.picture;
  if (picture !== undefined) return [ofPicture(picture, shown, plan)];
  const columns = Math.min(keys.length, Math.round(w * ratio()));
  const rows = Math.min(queries.length, Math.round(h * ratio()));
  const pixels = new Uint8ClampedArray(columns * rows * 4);
  const seen = new Float32Array(columns * rows).fill(-1);
  const hidden = keys.map((unit) => unit.hidden);
  const stripe = Math.max(4, Math.round((8 * keys.length) / w));
  const [paper, line] = [palette.bytes("attention", 0), palette.bytes("residual", 0.45)];
  for (let query = 0; query < queries.length; query++) {
    const row = heads[own]?.weights.row(query);
    const down = Math.floor((query * rows) / queries.length) * columns;
    for (let key = 0; key < keys.length; key++) {
      const place = down + Math.floor((columnAt(plan, shown, key) * columns) / keys.length);
      const value = row?.[key] ?? 0;
      if (value <= (seen[place] ?? 0) && (seen[place] ?? 0) >= 0) continue;
      seen[place] = value;
      const stripes = (query + key) % stripe < stripe / 4;
      const colour =
        value > 0
          ? palette.bytes(hidden[key] === true ? "hidden" : "attention", strengthOf(value, keys.length))
          : stripes && shown.masked(query, key)
            ? line
            : paper;
      pixels.set(colour, place * 4);
      pixels[place * 4 + 3] = 255;
    }
  }
  return [{ x, y, w, h, columns, rows, pixels }];
}

/** The picture of a head whose numbers are not all here; what it shows of hidden tokens is shown. */
function ofPicture({ dots, lowest, highest }: Picture, { palette, keys }: Shown, { square }: Plan): Item {
  const [, , rows = 1, columns = 1] = dots.shape;
  const ratio = Math.log(highest / lowest);
  const colours = range(256, (dot) => {
    const weight = dot === 0 ? 0 : lowest * Math.exp((ratio * (dot - 1)) / 254);
    return palette.bytes("attention", strengthOf(weight, keys.length));
  });
  const pixels = new Uint8ClampedArray(rows * columns * 4).fill(255);
  for (let place = 0; place < rows * columns; place++) {
    const colour = colours[dots.data[place] ?? 0];
    if (colour !== undefined) pixels.set(colour, place * 4);
  }
  const { x, y, w, h } = square;
  return { x, y, w, h, columns, rows, pixels };
}

/** Which rows of so many are named where there is not room for all. */
export function everyNth(pitch: number): number {
  return Math.max(1, Math.ceil(14 / pitch));
}

function drawWords(shown: Shown, plan: Plan, items: Item[], cw: number, ch: number): void {
  const { queries, keys, palette, measure } = shown;
  const { x, y, words } = plan.square;
  const fill = (hidden: boolean): string => (hidden ? palette.text("hidden") : palette.quiet);
  for (let query = 0; query < queries.length; query += everyNth(ch)) {
    const unit = queries[query];
    if (unit === undefined) continue;
    const text = cut(unit.text, words, measure);
    items.push({
      x: x - 8,
      y: y + (query + 0.5) * ch + 4,
      text,
      fill: fill(unit.hidden),
      align: "right",
    });
  }
  // The words that are looked at stand above their columns already where they stand across.
  if (plan.across || cw < 11) return;
  keys.forEach((unit, key) => {
    const [text, at] = [cut(unit.text, COLUMN_WORDS - 4, measure), x + (key + 0.5) * cw + 4];
    items.push({ x: at, y: y - 6, text, fill: fill(unit.hidden), turned: true });
  });
}
