/** A model as its parts in the order of computation, their weights to scale, and what flows between them. */

import type { Palette } from "../../draw/colour.ts";
import { Pen } from "../../draw/pen.ts";
import { rounded, type Scene } from "../../draw/scene.ts";
import { counted } from "../../numbers/written.ts";
import type { Spot } from "../../views/spots.tsx";
import { heard, say } from "../../words/say.ts";
import type { Row } from "../heads/heads_scene.ts";
import { drawAnswers, type Look, NARROW } from "./answers_scene.ts";
import { KINDS, type Kind, memoryOf, type Part, rough } from "./parts.ts";
import type { Prediction } from "./predictions.ts";
import { drawStrip } from "./strip_scene.ts";

export interface Drawn {
  readonly parts: readonly Part[];
  /** What a part is called. */
  title(unit: string): string;
  /** `3 × 5 × 6`: the sizes of a tensor; empty where they are not known. */
  sizes(tensor: string): string;
  /** What enters a stack: `3 × 5 tokens`. */
  enters(side: string): string;
  /** The heads of an attention, where they are there already. */
  readonly rows: ReadonlyMap<string, Row>;
  readonly predictions: readonly Prediction[];
}

interface Placed {
  readonly part: Part;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

const [BETWEEN_COLUMNS, LANE, FLOW, CLOSE, ENTRY, HEADED] = [56, 28, 20, 6, 20, 88];
/** From so many parts on the blocks stand close together, and the sizes between them are written once. */
const MANY = 12;
export function colourOf(kind: Kind, palette: Palette): string {
  if (kind === "rest") return palette.ink;
  if (kind === "table") return palette.cell("residual", 0.35);
  return palette.fill(kind === "attention" ? "attention" : "residual");
}

export function modelScene(drawn: Drawn, look: Look, width: number): { scene: Scene; spots: Spot[] } {
  const { parts } = drawn;
  const pen = new Pen();
  const spots: Spot[] = [];
  const sides = ["encoder", "decoder"].filter((side) => parts.some((part) => part.side === side));
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
    const start = sides.length > 1 ? look.measure(heard(side), 14, true) + 12 : 0;
    if (start > 0) pen.text(x, y + 14, heard(side), look.palette.ink, { size: 14, bold: true });
    pen.text(x + start, y + 14, drawn.enters(side), look.palette.quiet);
    y += ENTRY + 22;
    const close = own.length >= MANY;
    const least = w < NARROW ? (close ? 44 : 56) : close ? 32 : 44;
    own.forEach((part, order) => {
      // The heads of few blocks have room to be seen.
      const h = !close && part.attentions.length > 0 ? HEADED : least;
      const before = own[order - 1];
      const together = close && [part, before].every((each) => each?.unit.includes(".blocks.") === true);
      const between = order === 0 ? ENTRY : together ? CLOSE : FLOW;
      if (order > 0) y += between;
      const box = { part, x, y, w, h };
      drawFlow(drawn, before, part, x + 20, y, between, look, pen);
      drawPart(drawn, box, most, look, pen, spots);
      placed.set(part.unit, box);
      y += h;
    });
    if (last && drawn.predictions.length > 0) y = drawAnswers(drawn.predictions, x, y, w, look, pen, spots);
    bottom = Math.max(bottom, y);
  });
  if (memory !== undefined) {
    drawMemory(drawn, memory, placed, beside, width, look, pen);
    const from = placed.get(memory.unit);
    // What it is called stands below it.
    bottom = Math.max(bottom, (from?.y ?? 0) + (from?.h ?? 0) + 12);
  }
  return { scene: { width, height: bottom + 8, items: pen.items, panels: [] }, spots };
}

/** What flows into a part: an arrow from the one above it, and the sizes of what it reads. */
function drawFlow(
  drawn: Drawn,
  before: Part | undefined,
  part: Part,
  x: number,
  y: number,
  above: number,
  { palette }: Look,
  pen: Pen,
): void {
  // The bias by distance is made of no text.
  if (part.unit.endsWith("relative_bias")) return;
  const stroke = palette.fill("residual");
  const [from] = before !== undefined && part.reads.has(before.unit) ? [before.unit] : [...part.reads.keys()];
  const direct = from === before?.unit;
  pen.line(`M${x} ${y - (direct ? above : 10)}V${y - 1}`, stroke);
  if (above < FLOW) return;
  pen.arrow(x, y - 1, "down", stroke);
  const sizes = drawn.sizes(part.reads.get(from ?? "") ?? "");
  const text = from === undefined ? "" : direct ? sizes : say`${sizes} from ${drawn.title(from)}`;
  pen.text(x + 14, y - 6, text, palette.quiet);
}

/** A part: its name, pictures of its heads, and its weights on one scale with those of all others. */
function drawPart(drawn: Drawn, box: Placed, most: number, look: Look, pen: Pen, spots: Spot[]): void {
  const { palette, measure } = look;
  const { part, x, y, w, h } = box;
  const narrow = w < NARROW;
  const title = drawn.title(part.unit);
  const first = narrow ? y + 18 : y + h / 2 + 5;
  const right = x + w - 12;
  pen.rect(x, y, w, h, palette.faint);
  pen.text(x + 12, first, title, palette.ink, { size: 14, bold: true });
  const count = part.weights > 0 ? rough(part.weights) : part.tied.length > 0 ? say`tied` : "0";
  pen.text(right, first, count, palette.ink, { size: 14, align: "right" });
  spots.push({ id: part.unit, x, y, w, h, label: `${title}: ${counted(part.weights, "weight")}` });
  const barRoom = narrow ? w * 0.4 : Math.min(w * 0.28, 240);
  const barLeft = right - (narrow ? 0 : 60) - barRoom;
  const barY = narrow ? y + h - 18 : y + h / 2 - 5;
  let left = barLeft;
  pen.rect(left, barY + 10, barRoom, 1, palette.hair);
  for (const kind of KINDS) {
    const wide = (barRoom * part.kinds[kind]) / most;
    if (wide > 0) pen.rect(left, barY, Math.max(wide, 0.75), 10, colourOf(kind, palette));
    left += wide;
  }
  const stripLeft = narrow ? x + 12 : x + Math.max(120, measure(title, 14, true) + 36);
  const area = { x: stripLeft, y: narrow ? y + 24 : y, w: barLeft - 16 - stripLeft, h: narrow ? h - 24 : h };
  drawStrip(part.attentions, drawn.rows, area, palette, pen, spots);
}

/** From the end of the encoder to each block of the decoder that looks back at it. */
function drawMemory(
  drawn: Drawn,
  memory: Part,
  placed: ReadonlyMap<string, Placed>,
  beside: boolean,
  width: number,
  { palette }: Look,
  pen: Pen,
): void {
  const from = placed.get(memory.unit);
  const into = [...placed.values()].filter(({ part }) => part.reads.has(memory.unit));
  const tensor = into[0]?.part.reads.get(memory.unit);
  if (from === undefined || tensor === undefined) return;
  const stroke = palette.fill("attention");
  const end = from.x + from.w;
  const lane = beside ? end + BETWEEN_COLUMNS / 2 : width - LANE / 2 + 2;
  const sy = from.y + from.h / 2;
  for (const { x, y, w, h } of into) {
    const [tx, ty] = [beside ? x : x + w, y + h / 2];
    pen.line(
      rounded([
        [end, sy],
        [lane, sy],
        [lane, ty],
        [tx, ty],
      ]),
      stroke,
    );
    pen.arrow(tx, ty, beside ? "right" : "left", stroke);
  }
  const text = say`memory, ${drawn.sizes(tensor)}`;
  pen.text(end - 4, from.y + from.h + 14, text, palette.text("attention"), { align: "right" });
}
