/** All heads of a model as small pictures of their weights, in a grid of blocks and heads or in another order. */

import { imageOf, type Palette } from "../../draw/colour.ts";
import { strengthOf } from "../../draw/marks.ts";
import { Pen } from "../../draw/pen.ts";
import type { Item, Scene } from "../../draw/scene.ts";
import type { Heads, Measure } from "../../measures/heads.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted } from "../../numbers/written.ts";
import type { ImportanceRow } from "../../record/sums.ts";
import { HEAD_DOTS } from "../../sources/addresses.ts";
import type { Spot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { atOnce, JOBS, type Job, jobOf, labelOf } from "./jobs.ts";

/** One attention, whose heads stand in a row. */
export interface Row {
  /** Its name without `.weights`. */
  readonly attention: string;
  /** `encoder, self-attention`: rows that have this in common stand together. */
  readonly band: string;
  readonly block: number;
  /** What a head is called: `0·3`. */
  readonly name: string;
  readonly heads: Heads;
  /** Which rows and columns are hidden words. */
  readonly hidden?: { readonly queries: readonly boolean[]; readonly keys: readonly boolean[] };
}

/** One head with its row. */
export interface Head {
  readonly row: Row;
  readonly index: number;
  readonly id: string;
}

/** How the heads are ordered: by place, by what they do, or by one measure. */
export type Arrange = "" | "job" | "importance" | Measure;

export interface Look {
  readonly palette: Palette;
  readonly job: Readonly<Record<Job, string>>;
  readonly arrange: Arrange;
  /** Only heads that do this are shown at full strength; null = all. */
  readonly only: Job | null;
  /** What is lost without each head, by its id; undefined where that was not measured. */
  readonly worth?: ReadonlyMap<string, ImportanceRow> | undefined;
  /** What the groups of heads are called. */
  title(job: Job): string;
}

const [LEFT, HEADER, GAP, LINE] = [24, 24, 8, 16];
/** Pictures with less than so many pixels each stand closer. */
const [CROWDED, CLOSE] = [40, 3];

/** The side of a small picture: so many pixels a dot, and how many dots. */
export interface Size {
  readonly dots: number;
  readonly pixels: number;
}

/** The largest pictures for so many heads side by side; a dot has whole pixels, so that no two look unequal. */
export function sizeFor(width: number, heads: number, tokens: number, most = LARGEST): Size {
  const pitch = Math.floor((width - LEFT) / heads);
  const room = Math.min(pitch - (pitch < CROWDED ? CLOSE : GAP), most);
  let best: Size = { dots: 16, pixels: 1 };
  const choices = tokens <= FINEST ? [tokens] : DOTS;
  for (const dots of choices) {
    const pixels = Math.max(1, Math.floor(room / dots));
    if (dots * pixels <= room && dots * pixels > best.dots * best.pixels) best = { dots, pixels };
  }
  return tokens <= FINEST && best.dots !== tokens ? { dots: tokens, pixels: 1 } : best;
}

const FINEST = HEAD_DOTS;
const DOTS = range(5, (step) => FINEST - 4 * step);
const LARGEST = 112;
/** Below this there is no room for what a head does; a line in its colour stays. */
const WORDED = 44;

export function idOf(attention: string, index: number): string {
  return `${attention} ${index}`;
}

export function headsIn(rows: readonly Row[]): Head[] {
  return rows.flatMap((row) => row.heads.measured.map((_, index) => ({ row, index, id: idOf(row.attention, index) })));
}

/** The heads in lines, each with what stands before it. */
function linesOf(rows: readonly Row[], look: Look, across: number): { title: string; before: string; heads: Head[] }[] {
  if (look.arrange === "") {
    let band = "";
    return rows.map((row) => {
      const title = row.band === band ? "" : row.band;
      band = row.band;
      return { title, before: String(row.block), heads: headsIn([row]) };
    });
  }
  const all = headsIn(rows);
  const groups: [string, Head[]][] = [];
  if (look.arrange === "job") {
    for (const job of JOBS) {
      const heads = sorted(
        all.filter((head) => jobIn(head).job === job),
        (head) => jobIn(head).value,
      );
      if (heads.length > 0) groups.push([`${look.title(job)}: ${counted(heads.length, "head")}`, heads]);
    }
  } else if (look.arrange === "importance") {
    groups.push(["", sorted(all, ({ id }) => look.worth?.get(id)?.difference ?? -Infinity)]);
  } else {
    const measure = look.arrange;
    const known = all.filter(({ row, index }) => !Number.isNaN(row.heads.measured[index]?.[measure]));
    const by = sorted(known, ({ row, index }) => row.heads.measured[index]?.[measure] ?? 0);
    groups.push(["", measure === "entropy" || measure === "distance" ? by.reverse() : by]);
  }
  return groups.flatMap(([title, heads]) =>
    range(Math.ceil(heads.length / across), (line) => {
      return { title: line === 0 ? title : "", before: "", heads: heads.slice(line * across, (line + 1) * across) };
    }),
  );
}

function sorted(heads: readonly Head[], by: (head: Head) => number): Head[] {
  return [...heads].sort((one, two) => by(two) - by(one));
}

export function jobIn({ row, index }: Head): ReturnType<typeof jobOf> {
  const measured = row.heads.measured[index];
  if (measured === undefined) throw new Error(say`${row.attention} has no head ${index}`);
  return jobOf(measured);
}

/** The picture and where each head is on it. */
export function headsScene(
  rows: readonly Row[],
  look: Look,
  size: Size,
  width: number,
): { scene: Scene; spots: Spot[] } {
  const { palette } = look;
  const pen = new Pen();
  const spots: Spot[] = [];
  const grid = look.arrange === "";
  const most = Math.max(1, ...rows.map((row) => row.heads.measured.length));
  const side = Math.max(...rows.map(({ heads }) => Math.max(...heads.thumbnails.shape.slice(1)) * size.pixels), 1);
  const pitch = Math.max(side + CLOSE, Math.min(Math.floor((width - LEFT) / most), side + 24));
  const across = grid ? most : Math.max(1, Math.floor((width - LEFT) / pitch));
  const left = grid ? LEFT : 1;
  let y = 0;
  for (const { title, before, heads } of linesOf(rows, look, across)) {
    if (title !== "") {
      y += y === 0 ? 0 : 8;
      pen.text(0, y + 12, title, palette.ink, { bold: true });
      y += HEADER;
      heads.forEach((_, head) => {
        const text = head === 0 && pitch > 48 ? say`head 0` : String(head);
        if (grid) pen.text(LEFT + head * pitch + side / 2, y + 8, text, palette.quiet, { align: "center" });
      });
      if (grid) y += LINE;
    }
    const top = grid ? y : y + LINE;
    pen.text(LEFT - 10, top + side / 2 + 4, before, palette.quiet, { align: "right" });
    pen.items.push(atlas(heads, size.pixels, pitch, side, left, top, palette));
    heads.forEach((head, column) => {
      const x = left + column * pitch;
      if (!grid) pen.text(x, top - 4, cutName(nameOf(head), side), palette.quiet);
      drawHead(head, x, top, { side, pixels: size.pixels }, look, pen);
      const { index, row } = head;
      const label = say`${row.band}, block ${row.block}, head ${index}: ${labelOf(jobIn(head))}`;
      spots.push({ id: head.id, x, y: top, w: side, h: side, label });
    });
    const under = side >= WORDED && heads.some((head) => secondLine(head, look) !== "") ? LINE : 0;
    y = top + side + (side >= WORDED ? LINE + 10 : 10) + under;
  }
  return { scene: { width, height: y + 4, items: pen.items, panels: [] }, spots };
}

/** `cross 0·3` where there is room for it, else `0·3`. */
function cutName(name: string, side: number): string {
  return name.length * 7 > side + GAP ? (name.split(" ").at(-1) ?? name) : name;
}

export function nameOf({ row, index }: Head): string {
  return `${row.name}·${index}`;
}

/** What stands around a small picture: its frame, a line as long as its number, its label, and a veil. */
function drawHead(
  head: Head,
  x: number,
  y: number,
  { side, pixels }: { readonly side: number; readonly pixels: number },
  look: Look,
  pen: Pen,
): void {
  const { palette } = look;
  const found = jobIn(head);
  const measured = head.row.heads.measured[head.index];
  const { arrange } = look;
  const measure = arrange === "" || arrange === "job" || arrange === "importance" ? null : arrange;
  const named = found.job !== "few" && found.job !== "many";
  const number = measure === null ? found.value : (measured?.[measure] ?? 0);
  const isShare = measure === null ? named : measure !== "entropy" && measure !== "distance";
  // Two texts of a model are of unequal length: each head is as large as its own words need.
  const [, down = 1, along = 1] = head.row.heads.thumbnails.shape;
  pen.frame(x - 0.5, y - 0.5, along * pixels + 1, down * pixels + 1, palette.hair);
  if (isShare) {
    const fill = look.job[measure === null ? found.job : jobFor(measure)];
    pen.rect(x, y + side + 3, Math.max(2, Math.min(number, 1) * side), 3, fill);
  }
  if (side >= WORDED) {
    const text = measure === null ? labelOf(found) : numberOf(measure, number, measured);
    pen.text(x, y + side + 18, text, named || measure !== null ? palette.ink : palette.quiet);
    pen.text(x, y + side + 18 + LINE, secondLine(head, look), palette.quiet);
  }
  drawHidden(head.row, x, y, [along * pixels, down * pixels], pen, palette);
  if (look.only !== null && look.only !== found.job) {
    pen.rect(x - 5, y - 5, side + 6, side + 26 + LINE, `${palette.paper}d0`);
  }
}

/** How much of the attention the label describes, and what is lost without the head. */
function secondLine({ row, index, id }: Head, { worth }: Look): string {
  const share = row.heads.shown?.[index];
  const lost = worth?.get(id)?.difference;
  const parts = [
    share === undefined ? "" : say`of ${share.toFixed(2).replace(/^0/, "")}`,
    lost === undefined ? "" : say`lost ${lost < 0 ? "−" : ""}${Math.abs(lost).toFixed(3).replace(/^0/, "")}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/** Marks at the edges, next to the rows and above the columns of hidden words. */
function drawHidden(
  { hidden }: Row,
  x: number,
  y: number,
  [across, high]: readonly [number, number],
  pen: Pen,
  palette: Palette,
): void {
  type Draw = (from: number, long: number) => void;
  const mark = (words: readonly boolean[] | undefined, side: number, draw: Draw): void => {
    const step = side / Math.max(words?.length ?? 0, 1);
    words?.forEach((each, place) => {
      if (each) draw(place * step, Math.max(step, 1));
    });
  };
  mark(hidden?.keys, across, (from, long) => pen.rect(x + from, y - 5, long, 4, palette.fill("hidden")));
  mark(hidden?.queries, high, (from, long) => pen.rect(x - 5, y + from, 4, long, palette.fill("hidden")));
}

function jobFor(measure: Measure): Job {
  return JOBS.find((job) => job === measure) ?? "many";
}

function numberOf(measure: Measure, value: number, measured: Parameters<typeof jobOf>[0] | undefined): string {
  if (measure === "entropy") return measured === undefined ? "" : say`${atOnce(measured).toFixed(1)} at once`;
  if (measure === "distance") return say`${value.toFixed(1)} away`;
  return value.toFixed(3).replace(/^0/, "");
}

/** The pictures of one line as one image: a pixel a dot, with room between them that stays empty. */
function atlas(
  heads: readonly Head[],
  pixels: number,
  pitch: number,
  side: number,
  x: number,
  y: number,
  palette: Palette,
): Item {
  // The gap between two pictures may be no whole number of dots: then the image has one column a pixel.
  const dot = pitch % pixels === 0 ? pixels : 1;
  const [columns, rows] = [Math.floor(((heads.length - 1) * pitch + side) / dot), Math.floor(side / dot)];
  const strengths = new Float32Array(columns * rows).fill(-1);
  const hidden: number[] = [];
  const by = pixels / dot;
  heads.forEach(({ row, index }, place) => {
    const [, down = 1, along = 1] = row.heads.thumbnails.shape;
    const { data } = row.heads.thumbnails;
    for (let r = 0; r < down * by; r++) {
      for (let c = 0; c < along * by; c++) {
        const share = data[(index * down + Math.floor(r / by)) * along + Math.floor(c / by)] ?? 0;
        const at = r * columns + (place * pitch) / dot + c;
        strengths[at] = strengthOf(share);
        if (along === row.hidden?.keys.length && row.hidden.keys[Math.floor(c / by)] === true) hidden.push(at);
      }
    }
  });
  const image = imageOf(strengths, "attention", palette);
  if (hidden.length > 0) {
    const red = imageOf(strengths, "hidden", palette);
    for (const at of hidden) image.set(red.subarray(4 * at, 4 * at + 4), 4 * at);
  }
  return { x, y, w: columns * dot, h: rows * dot, columns, rows, pixels: image };
}
