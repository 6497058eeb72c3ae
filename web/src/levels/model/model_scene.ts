/** A model as its parts in the order of computation, their weights to scale, and what flows between them. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { type Item, rounded, type Scene } from "../../draw/scene.ts";
import type { Spot } from "../../draw/spots.tsx";
import { counted } from "../../run/numbers.ts";
import type { Row } from "../heads/heads_scene.ts";
import { strengthOf } from "../heads/heads_scene.ts";
import { KINDS, type Kind, memoryOf, type Part, rough } from "./parts.ts";
import { type Guess, type Prediction, shareOf } from "./predictions.ts";

export interface Drawn {
  readonly parts: readonly Part[];
  /** What a part is called. */
  title(part: Part): string;
  /** `3 × 5 × 6`: the sizes of a tensor; empty where they are not known. */
  sizes(tensor: string): string;
  /** What enters a stack: `3 × 5 tokens`. */
  enters(side: "encoder" | "decoder"): string;
  /** The heads of an attention, where they are there already. */
  readonly rows: ReadonlyMap<string, Row>;
  readonly predictions: readonly Prediction[];
}

export interface Look {
  readonly palette: Palette;
  readonly measure: Measure;
}

interface Placed {
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const [BETWEEN_COLUMNS, LANE, FLOW, CLOSE, ENTRY] = [56, 28, 26, 6, 20];
/** From so many blocks on they stand close together, and the sizes between them are written once. */
const MANY = 9;

export function colourOf(kind: Kind, palette: Palette): string {
  switch (kind) {
    case "table":
      return palette.cell("residual", 0.35);
    case "attention":
      return palette.fill("attention");
    case "forward":
      return palette.fill("residual");
    case "rest":
      return palette.ink;
  }
}

export function modelScene(drawn: Drawn, look: Look, width: number): { scene: Scene; spots: Spot[] } {
  const { parts } = drawn;
  const [items, spots]: [Item[], Spot[]] = [[], []];
  const sides = (["encoder", "decoder"] as const).filter((side) => parts.some((part) => part.side === side));
  const beside = sides.length > 1 && width >= 640;
  const memory = memoryOf(parts);
  const room = !beside && memory !== undefined ? width - LANE : width;
  const w = beside ? (width - BETWEEN_COLUMNS) / 2 : room;
  const most = Math.max(1, ...parts.map(({ weights }) => weights));
  const placed = new Map<string, Placed>();
  let bottom = 0;
  sides.forEach((side, column) => {
    const x = beside ? column * (w + BETWEEN_COLUMNS) : 0;
    let y = beside || column === 0 ? 0 : bottom + 24;
    const last = column === sides.length - 1;
    const own = parts.filter((part) => part.side === side || (last && part.side === "end"));
    y = enter(drawn, side, sides.length > 1, x, y, look, items);
    const close = own.length - 2 > MANY;
    const tall = heightOf(w, close);
    own.forEach((part, order) => {
      const before = own[order - 1];
      const between = close && bothBlocks(part, before) ? CLOSE : FLOW;
      if (order > 0) y += between;
      const box = { part, x, y, w, h: tall };
      drawFlow(drawn, before, part, box, between, look, items);
      drawPart(drawn, box, most, look, items, spots);
      placed.set(part.unit, box);
      y += tall;
    });
    if (last && drawn.predictions.length > 0) y = drawPredictions(drawn.predictions, x, y, w, look, items, spots);
    bottom = beside ? Math.max(bottom, y) : y;
  });
  if (memory !== undefined) drawMemory(drawn, memory, placed, beside, width, look, items);
  return { scene: { width, height: bottom + 8, items, panels: [] }, spots };
}

function bothBlocks(one: Part, two: Part | undefined): boolean {
  return one.unit.includes(".blocks.") && two?.unit.includes(".blocks.") === true;
}

function heightOf(width: number, close: boolean): number {
  if (width < 520) return close ? 44 : 56;
  return close ? 32 : 48;
}

/** What enters a stack. */
function enter(
  drawn: Drawn,
  side: "encoder" | "decoder",
  named: boolean,
  x: number,
  y: number,
  { palette, measure }: Look,
  items: Item[],
): number {
  const start = named ? measure(side, 14, true) + 12 : 0;
  if (named) items.push({ kind: "text", x, y: y + 14, text: side, size: 14, fill: palette.ink, bold: true });
  items.push({ kind: "text", x: x + start, y: y + 14, text: drawn.enters(side), size: 12, fill: palette.quiet });
  return y + ENTRY + 22;
}

/** What flows into a part from the one above it. */
function drawFlow(
  drawn: Drawn,
  before: Part | undefined,
  part: Part,
  { x, y }: Placed,
  between: number,
  { palette }: Look,
  items: Item[],
): void {
  const stroke = palette.fill("residual");
  const above = before === undefined ? ENTRY - 2 : between;
  // A part that does not read the one before it reads an earlier one: the arrow would tell something else.
  if (before !== undefined && !part.reads.has(before.unit)) {
    const from = [...part.reads.keys()].at(-1);
    if (from !== undefined && above >= FLOW) {
      const text = `reads ${drawn.title({ ...part, unit: from })}`;
      items.push({ kind: "text", x: x + 34, y: y - 9, text, size: 12, fill: palette.quiet });
    }
    return;
  }
  const cx = x + 20;
  items.push({ kind: "path", d: `M${cx} ${y - above}V${y - 1}`, stroke, line: 1.5 });
  if (above < FLOW - 8) return;
  items.push({ kind: "path", d: `M${cx - 4} ${y - 6}L${cx} ${y - 1}L${cx + 4} ${y - 6}`, stroke, line: 1.5 });
  const tensor = before === undefined ? "" : (part.reads.get(before.unit) ?? "");
  const text = drawn.sizes(tensor);
  if (text !== "") items.push({ kind: "text", x: cx + 14, y: y - 9, text, size: 12, fill: palette.quiet });
}

/** A part: its name, pictures of its heads, and its weights on one scale with those of all others. */
function drawPart(drawn: Drawn, box: Placed, most: number, look: Look, items: Item[], spots: Spot[]): void {
  const { palette, measure } = look;
  const { part, x, y, w, h } = box;
  const narrow = w < 520;
  items.push({ kind: "rect", x, y, w, h, fill: palette.faint });
  const title = drawn.title(part);
  const first = narrow ? y + 18 : y + h / 2 + 5;
  items.push({ kind: "text", x: x + 12, y: first, text: title, size: 14, fill: palette.ink, bold: true });
  const count = part.weights > 0 ? rough(part.weights) : part.tied.length > 0 ? "tied" : "0";
  const right = x + w - 12;
  const counted_ = narrow ? first : y + h / 2 + 5;
  items.push({ kind: "text", x: right, y: counted_, text: count, size: 14, fill: palette.ink, align: "right" });
  const label = `${title}: ${counted(part.weights, "weight")}`;
  spots.push({ id: part.unit, x, y, w, h, label });
  const barRight = narrow ? right : right - 60;
  const barRoom = narrow ? w * 0.4 : Math.min(w * 0.28, 240);
  const barY = narrow ? y + h - 18 : y + h / 2 - 5;
  let left = barRight - barRoom;
  items.push({ kind: "rect", x: left, y: barY + 10, w: barRoom, h: 1, fill: palette.hair });
  for (const kind of KINDS) {
    const wide = (barRoom * part.kinds[kind]) / most;
    if (wide === 0) continue;
    items.push({ kind: "rect", x: left, y: barY, w: Math.max(wide, 0.75), h: 10, fill: colourOf(kind, palette) });
    left += wide;
  }
  const stripLeft = narrow ? x + 12 : x + Math.max(120, measure(title, 14, true) + 36);
  const stripRoom = barRight - barRoom - 16 - stripLeft;
  drawStrip(drawn, part, stripLeft, narrow ? y + 24 : y, stripRoom, narrow ? h - 24 : h, look, items, spots);
}

/** The heads of a part as small pictures, as far as there is room. */
function drawStrip(
  drawn: Drawn,
  part: Part,
  x: number,
  y: number,
  w: number,
  h: number,
  { palette }: Look,
  items: Item[],
  spots: Spot[],
): void {
  let left = x;
  for (const attention of part.attentions) {
    const row = drawn.rows.get(attention);
    if (row === undefined) continue;
    const [heads = 1, down = 1, along = 1] = row.heads.thumbnails.shape;
    const share = w / part.attentions.length - 8;
    const side = Math.min(h - 12, Math.floor(share / heads) - 3);
    if (side < 6) continue;
    const [rows, columns] = [Math.min(down, side * 2), Math.min(along, side * 2)];
    const top = y + (h - side) / 2;
    for (let head = 0; head < heads; head++) {
      const pixels = new Uint8ClampedArray(rows * columns * 4);
      for (let r = 0; r < down; r++) {
        for (let c = 0; c < along; c++) {
          const value = row.heads.thumbnails.data[(head * down + r) * along + c] ?? 0;
          const at = (Math.floor((r * rows) / down) * columns + Math.floor((c * columns) / along)) * 4;
          // The alpha holds the strength seen so far until all dots are in.
          const own = 1 + Math.round(strengthOf(value) * 253);
          if (own <= (pixels[at + 3] ?? 0)) continue;
          pixels.set(palette.bytes("attention", strengthOf(value)), at);
          pixels[at + 3] = own;
        }
      }
      for (let at = 3; at < pixels.length; at += 4) pixels[at] = 255;
      items.push({ kind: "image", x: left + head * (side + 3), y: top, w: side, h: side, columns, rows, pixels });
    }
    const wide = heads * (side + 3) - 3;
    const crossing = attention.endsWith("cross_attention") ? "cross-attention, " : "";
    spots.push({
      id: `heads ${attention}`,
      x: left - 4,
      y: top - 4,
      w: wide + 8,
      h: side + 8,
      label: `${crossing}${counted(heads, "head")}`,
    });
    left += wide + 16;
  }
}

/** From the end of the encoder to each block of the decoder that looks back at it. */
function drawMemory(
  drawn: Drawn,
  memory: Part,
  placed: ReadonlyMap<string, Placed>,
  beside: boolean,
  width: number,
  { palette }: Look,
  items: Item[],
): void {
  const from = placed.get(memory.unit);
  const into = [...placed.values()].filter(({ part }) => part.reads.has(memory.unit));
  const [first, last] = [into[0], into.at(-1)];
  if (from === undefined || first === undefined || last === undefined) return;
  const stroke = palette.fill("attention");
  const tensor = first.part.reads.get(memory.unit) ?? "";
  const text = `memory, ${drawn.sizes(tensor)}`;
  const lane = beside ? from.x + from.w + BETWEEN_COLUMNS / 2 : width - LANE / 2 + 2;
  const sy = from.y + from.h / 2;
  const line = 1.5;
  for (const { x, y, w, h } of into) {
    const [ty, tx] = [y + h / 2, beside ? x : x + w];
    items.push({
      kind: "path",
      d: rounded([
        [from.x + from.w, sy],
        [lane, sy],
        [lane, ty],
        [tx, ty],
      ]),
      stroke,
      line,
    });
    const back = beside ? -5 : 5;
    items.push({ kind: "path", d: `M${tx + back} ${ty - 4}L${tx} ${ty}L${tx + back} ${ty + 4}`, stroke, line });
  }
  const at = { x: from.x + from.w - 4, y: from.y + from.h + 14 };
  items.push({ kind: "text", ...at, text, size: 12, fill: palette.text("attention"), align: "right" });
}

/** What it answered, each word with its probability as a bar on one scale. */
function drawPredictions(
  predictions: readonly Prediction[],
  x: number,
  y: number,
  w: number,
  { palette, measure }: Look,
  items: Item[],
  spots: Spot[],
): number {
  const stroke = palette.fill("residual");
  const cx = x + 20;
  items.push({
    kind: "path",
    d: `M${cx} ${y}V${y + 25}M${cx - 4} ${y + 20}L${cx} ${y + 25}L${cx + 4} ${y + 20}`,
    stroke,
    line: 1.5,
  });
  const asked = Math.min(w * 0.28, Math.max(...predictions.map((each) => measure(each.asked, 14, true))) + 16);
  const most = Math.max(1, ...predictions.map(({ guesses }) => guesses.length));
  const room = (w - asked) / most;
  let top = y + 32;
  for (const { asked: text, hidden, guesses } of predictions) {
    const fill = hidden ? palette.text("hidden") : palette.ink;
    items.push({
      kind: "text",
      x,
      y: top + 15,
      text: cutAt(text, asked - 8, measure, true),
      size: 14,
      fill,
      bold: true,
    });
    guesses.forEach((guess, order) => {
      const left = x + asked + order * room;
      const wide = room - 12;
      drawGuess(guess, left, top, wide, order === 0, palette, measure, items);
      const label = `${guess.text}: ${shareOf(guess)}`;
      spots.push({
        id: `number ${guess.name} ${guess.cell.join()}`,
        x: left - 2,
        y: top - 2,
        w: wide + 4,
        h: 30,
        label,
      });
    });
    top += 36;
  }
  return top;
}

function drawGuess(
  guess: Guess,
  x: number,
  y: number,
  w: number,
  first: boolean,
  palette: Palette,
  measure: Measure,
  items: Item[],
): void {
  const share = shareOf(guess);
  const fill = first ? palette.ink : palette.quiet;
  const right = guess.right === true ? " ✓" : "";
  const text = `${cutAt(guess.text, w - measure(`${share}${right}`, 14) - 8, measure, first)}${right}`;
  items.push({ kind: "text", x, y: y + 15, text, size: 14, fill, bold: first });
  items.push({ kind: "text", x: x + w, y: y + 15, text: share, size: 14, fill, align: "right" });
  items.push({ kind: "rect", x, y: y + 20, w, h: 4, fill: palette.faint });
  items.push({ kind: "rect", x, y: y + 20, w: Math.max(1, w * guess.share), h: 4, fill: palette.fill("hidden") });
}

function cutAt(text: string, width: number, measure: Measure, bold: boolean): string {
  return cut(text, width, (each) => measure(each, 14, bold));
}
