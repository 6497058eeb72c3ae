/** Draws a box that has been measured: its front, its depth, its words and counts, and the frame of the word in hand. */

import type { Names } from "../formulas/names.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import { inCell } from "../numbers/written.ts";
import { type Box, cut, type Face, LABEL, type Look, namesColumns, namesRows, SENTENCES } from "./box.ts";
import type { Palette } from "./colour.ts";
import { frameOf, type Item, type Panel } from "./scene.ts";
import type { Sheet } from "./sheet.ts";
import { imageOfSheet } from "./sheet_image.ts";

/** Below this a cell is no brick any more: the face is drawn as an image. */
const BRICK = 6;

/** At most so many cells of a face are drawn as bricks. */
const BRICKS = 5000;

/** From this size on a brick bears its sign. */
export const SIGNED = 8;

/** From this size on a brick bears its number. */
const NUMBERED = { w: 36, h: 18 };

/** Draws a box whose upper left corner, without the words next to it, is at x, y. */
export function drawBox(box: Box, x: number, y: number, look: Look, items: Item[], panels: Panel[]): void {
  const { sheet, w, depth } = box;
  const { palette, measure } = look;
  const nameX = x + (box.sheet.layout.columns === "key" ? 0 : depth);
  items.push({
    x: Math.max(x, Math.min(nameX, x + box.width - measure(box.title, 12))),
    y: y + 11,
    text: box.title,
    fill: palette.text(sheet.role),
  });
  box.faces.forEach((face, order) => {
    const [fx, fy] = [x + face.dx, y + box.top + face.dy];
    drawDepth(box, face, fx, fy, look, items, order === box.faces.length - 1 || sheet.layout.columns === "key");
    drawFront(box, face, fx, fy, look, items);
    panels.push(panelOf(box, face, fx, fy));
    if (box.worded && (order === 0 || (sheet.layout.columns === "key" && face.dx === 0))) {
      drawRowWords(box, fx, fy, look, items);
    }
    const named = look.bare !== true && namesColumns(sheet, w / sheet.columns);
    if (named && face.dy === 0) drawColumnWords(box, fx, fy, look, items);
    if (face.title !== "") {
      const [text, fill] = [face.title, palette.text(sheet.role)];
      items.push({ x: fx - 6, y: fy - 6, text, fill, align: "right" });
    }
  });
  if (look.bare !== true) drawCounts(box, x, y, look, items);
  drawWordFrame(box, x, y, look, items);
}

function drawFront(box: Box, face: Face, x: number, y: number, look: Look, items: Item[]): void {
  const { sheet, w, h } = box;
  const [cw, ch] = [w / sheet.columns, h / sheet.rows];
  if (!asBricks(box)) {
    items.push(faceOf(sheet, face.base, x, y, w, h, look));
    return;
  }
  const lines = new Map<string, string[]>();
  const paint = sheet.painter(face.base, look.sentence);
  for (let row = 0; row < sheet.rows; row++) {
    for (let column = 0; column < sheet.columns; column++) {
      const { role, strength, value, crossed } = paint(row, column);
      const [cx, cy] = [x + column * cw, y + row * ch];
      const fill = look.palette.cell(role, strength);
      items.push({ x: cx + 0.5, y: cy + 0.5, w: cw - 1, h: ch - 1, fill });
      if (cw >= NUMBERED.w && ch >= NUMBERED.h) {
        const [text, colour] = [inCell(value), look.palette.on(role, strength)];
        items.push({ x: cx + cw / 2, y: cy + ch / 2 + 4, text, fill: colour, align: "center" });
      } else if (crossed) {
        const stroke = strength > 0.5 ? look.palette.on(role, strength) : look.palette.fill(role);
        const all = lines.get(stroke) ?? [];
        all.push(`M${cx + 2} ${cy + ch - 2}L${cx + cw - 2} ${cy + 2}`);
        lines.set(stroke, all);
      } else if (value < 0 && cw >= SIGNED && ch >= SIGNED && strength > 0.02) {
        const stroke = look.palette.on(role, strength);
        items.push({ d: `M${cx + cw / 2 - 2} ${cy + ch / 2}h4`, stroke, line: 1 });
      }
    }
  }
  for (const [stroke, all] of lines) items.push({ d: all.join(""), stroke, line: 1 });
}

function asBricks({ sheet, w, h }: Box): boolean {
  return w / sheet.columns >= BRICK && h / sheet.rows >= BRICK && sheet.rows * sheet.columns <= BRICKS;
}

/** The images made of a tensor so far: a step of the cell in hand changes the frames of a picture and none of its dots. */
interface Made {
  readonly palette: Palette;
  readonly names: Names;
  readonly pixels: Map<string, Uint8ClampedArray<ArrayBuffer>>;
}

const images = new WeakMap<Tensor, Made>();

function madeOf({ tensor, names }: Sheet, { palette }: Look): Made["pixels"] {
  let found = images.get(tensor);
  if (found === undefined || found.palette !== palette || found.names !== names) {
    found = { palette, names, pixels: new Map() };
    images.set(tensor, found);
  }
  return found.pixels;
}

/** The face as an image of at most a pixel a cell; where several cells share a pixel, the largest is seen. */
function faceOf(sheet: Sheet, base: readonly number[], x: number, y: number, w: number, h: number, look: Look): Item {
  const { drawn } = sheet;
  const columns = Math.min(drawn.columns, Math.ceil(w * 2));
  const rows = Math.min(drawn.rows, Math.ceil(h * 2));
  const { layout, scale } = sheet;
  const made = madeOf(sheet, look);
  const key = [base, look.sentence, columns, rows, layout.rows, layout.columns, scale].join();
  const known = made.get(key);
  if (known !== undefined) return { x, y, w, h, columns, rows, pixels: known };
  const pixels = imageOfSheet(sheet, base, look.sentence, { rows, columns }, look.palette);
  made.set(key, pixels);
  return { x, y, w, h, columns, rows, pixels };
}

/** The top shows the first row of each sentence, the side its last column. */
function drawDepth(box: Box, face: Face, x: number, y: number, look: Look, items: Item[], side: boolean): void {
  const { sheet, w, h } = box;
  const axis = sheet.layout.depth;
  if (axis === null) return;
  const { step } = look;
  const place = sheet.axes.indexOf(axis);
  const count = sheet.size(axis);
  const bricks = asBricks(box);
  for (let behind = Math.min(count, SENTENCES) - 1; behind >= 0; behind--) {
    const sentence = count === 1 ? 0 : (look.sentence + behind) % count;
    const base = face.base.map((index, dimension) => (dimension === place ? sentence : index));
    const [dx, dy] = [behind * step, -behind * step];
    const paint = sheet.painter(base, sentence);
    const colour = (row: number, column: number, by: number): string => {
      const { role, strength } = paint(row, column);
      return look.palette.shade(role, bricks ? strength : 0.25, by);
    };
    const tops = bricks ? sheet.columns : 1;
    for (let column = 0; column < tops; column++) {
      const [left, right] = [x + dx + (w / tops) * column + 0.5, x + dx + (w / tops) * (column + 1) - 0.5];
      const [front, back] = [y + dy - 0.5, y + dy - step + 0.5];
      const points = [left, front, right, front, right + step - 1, back, left + step - 1, back];
      items.push({ points, fill: colour(0, column, 0.05) });
    }
    if (!side) continue;
    const sides = bricks ? sheet.rows : 1;
    for (let row = 0; row < sides; row++) {
      const [high, low] = [y + dy + (h / sides) * row + 0.5, y + dy + (h / sides) * (row + 1) - 0.5];
      const [front, back] = [x + w + dx + 0.5, x + w + dx + step - 0.5];
      const points = [front, high, back, high - step + 1, back, low - step + 1, front, low];
      items.push({ points, fill: colour(row, sheet.columns - 1, 0.12) });
    }
  }
}

function panelOf(box: Box, face: Face, x: number, y: number): Panel {
  const { sheet, w, h } = box;
  const [rowAxis, columnAxis] = [sheet.layout.rows, sheet.layout.columns].map((axis) => {
    return axis === null ? -1 : sheet.axes.indexOf(axis);
  });
  const along = (cell: readonly number[], axis: number | undefined): number => {
    return axis === undefined || axis < 0 ? 0 : (cell[axis] ?? 0);
  };
  return {
    tensor: sheet.name,
    ...{ x, y, w, h },
    rows: sheet.rows,
    columns: sheet.columns,
    cell: (row, column) => sheet.cell(face.base, row, column),
    find: (cell) => {
      const [row, column] = [along(cell, rowAxis), along(cell, columnAxis)];
      const same = sheet.cell(face.base, row, column).every((index, axis) => index === cell[axis]);
      return same ? [row, column] : null;
    },
  };
}

function drawRowWords(box: Box, x: number, y: number, look: Look, items: Item[]): void {
  const { sheet, h } = box;
  const axis = sheet.layout.rows ?? "";
  const every = Math.ceil((11 * sheet.rows) / h);
  for (let row = 0; row < sheet.rows; row++) {
    if (
      ((row - look.word) % every !== 0 || !namesRows(sheet, look)) &&
      (row !== look.word || sheet.names.side(sheet.name, axis) !== look.text)
    )
      continue;
    const label = sheet.names.label(sheet.name, axis, row, look.sentence);
    items.push({
      x: x - 6,
      y: y + (h / sheet.rows) * (row + 0.5) + 4,
      text: cut(label.text, LABEL, look.measure),
      fill: label.hidden ? look.palette.text("hidden") : look.palette.ink,
      bold: label.hidden,
      align: "right",
    });
  }
}

function drawColumnWords(box: Box, x: number, y: number, look: Look, items: Item[]): void {
  const { sheet, w, depth } = box;
  for (let column = 0; column < sheet.columns; column++) {
    const label = sheet.names.label(sheet.name, sheet.layout.columns ?? "", column, look.sentence);
    items.push({
      x: x + (w / sheet.columns) * (column + 0.5) + 4 + depth,
      y: y - depth - 4,
      text: cut(label.text, LABEL, look.measure),
      fill: label.hidden ? look.palette.text("hidden") : look.palette.quiet,
      turned: true,
    });
  }
}

/** The sizes along the three edges: below, to the right, at the slant. */
function drawCounts(box: Box, x: number, y: number, look: Look, items: Item[]): void {
  const { sheet, depth } = box;
  const fill = look.palette.quiet;
  const square = sheet.layout.columns === "key";
  const bottom = Math.max(...box.faces.map((face) => face.dy));
  const below = square ? String(sheet.columns) : box.faces.map(() => sheet.columns).join(" + ");
  const many = box.faces.length > 4 && !square ? `${box.faces.length} × ${sheet.columns}` : below;
  const wide = square ? box.w : Math.max(...box.faces.map((face) => face.dx)) + box.w;
  items.push({
    x: x + wide / 2,
    y: y + box.top + bottom + box.h + 14,
    text: many,
    fill,
    align: "center",
  });
  const sentences = sheet.size(sheet.layout.depth);
  if (sentences > 1 && !square) {
    items.push({
      x: Math.max(x + depth / 2 - 5, look.measure(String(sentences), 12)),
      y: y + box.top - depth / 2 - 2,
      text: String(sentences),
      fill,
      align: "right",
    });
  }
}

/** The one word that runs through the picture is framed wherever it has a row. */
function drawWordFrame(box: Box, x: number, y: number, look: Look, items: Item[]): void {
  const { sheet } = box;
  const axis = sheet.layout.rows;
  if (axis === null || look.word < 0) return;
  const row = axis === "place" ? placeOf(sheet, look) : look.word;
  if (sheet.names.side(sheet.name, axis) !== look.text && axis !== "place") return;
  if (row < 0 || row >= sheet.rows) return;
  const frame = { stroke: look.palette.ink, line: 1.5 } as const;
  const square = sheet.layout.columns === "key";
  const faces = square ? box.faces : box.faces.slice(0, 1);
  const wide = square ? box.w : Math.max(...box.faces.map((face) => face.dx)) + box.w;
  for (const face of faces) {
    const panel = panelOf(box, face, x + face.dx, y + box.top + face.dy);
    const { y: fy, h } = frameOf(panel, row, 0);
    // A row thinner than the frame's own line is framed from outside.
    const high = Math.max(h + 2, 5);
    items.push({ ...frame, x: x + face.dx - 1, y: fy + h / 2 - high / 2, w: wide + 2, h: high });
  }
}

function placeOf(sheet: Sheet, look: Look): number {
  return sheet.names.run.places.findIndex(([sentence, token]) => sentence === look.sentence && token === look.word);
}
