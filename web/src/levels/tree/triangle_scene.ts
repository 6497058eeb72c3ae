/** Who looked at whom so far: a row for each token, growing with the text; nothing after the diagonal may be seen. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { strengthOf } from "../../draw/marks.ts";
import { Pen } from "../../draw/pen.ts";
import type { Scene } from "../../draw/scene.ts";
import type { Share } from "./weights.ts";

const [LABEL, LARGEST, NAMED] = [88, 20, 12];

export interface Triangle {
  readonly tensor: string;
  /** The tokens of the whole text, so that the picture keeps its size while it grows. */
  readonly words: readonly string[];
  /** The row in hand: those after it are not yet written. */
  readonly step: number;
  readonly share: Share;
  cell(query: number, key: number): number[];
}

export function triangleScene(of: Triangle, palette: Palette, measure: Measure, width: number): Scene {
  const pen = new Pen();
  const { words, step, share, tensor } = of;
  const count = words.length;
  const named = (width - LABEL) / count >= NAMED;
  const x = named ? LABEL : 1;
  const cell = Math.min(LARGEST, Math.max(1, Math.floor((width - x - 2) / count)));
  const [rows, y] = [step + 1, 2];
  const pixels = new Uint8ClampedArray(rows * rows * 4).fill(255);
  for (let query = 0; query < rows; query++) {
    for (let key = 0; key <= query; key++) {
      pixels.set(palette.bytes("attention", strengthOf(share(query, key))), (query * rows + key) * 4);
    }
  }
  const size = rows * cell;
  pen.items.push({ x, y, w: size, h: size, columns: rows, rows, pixels });
  // What the look-ahead mask leaves out is paper, and so are the rows that are not yet written.
  const stairs = [x, y];
  for (let row = 0; row < rows; row++) {
    stairs.push(x + (row + 1) * cell, y + row * cell, x + (row + 1) * cell, y + (row + 1) * cell);
  }
  const beyond = [...stairs.slice(2), x + size + 1, y + size, x + size + 1, y - 1, x + cell, y - 1];
  pen.items.push({ points: beyond, fill: palette.paper });
  const edge = stairs.reduce((d, point, at) => `${d}${at === 0 ? "M" : at % 2 === 0 ? "L" : " "}${point}`, "");
  pen.line(edge, palette.quiet);
  const end = y + count * cell;
  pen.items.push({
    d: `M${x} ${y + size}L${x} ${end}L${x + count * cell} ${end}L${x + size} ${y + size}`,
    ...AHEAD(palette),
  });
  pen.items.push({
    ...{ x: x - 1, y: y + step * cell - 1, w: size + 2, h: Math.max(cell, 2) + 2 },
    ...{ stroke: palette.ink, line: 1 },
  });
  if (named) {
    for (let row = 0; row < rows; row++) {
      const own = row === step;
      const text = cut(words[row] ?? "", LABEL - 8, measure);
      const fill = own ? palette.ink : palette.quiet;
      pen.text(LABEL - 8, y + row * cell + cell / 2 + 4, text, fill, { align: "right", bold: own });
    }
  }
  const panel = {
    ...{ tensor, x, y, w: size, h: size, rows, columns: rows },
    cell: (query: number, key: number): number[] => of.cell(query, Math.min(query, key)),
    find: (found: readonly number[]): [number, number] | null => {
      const [query = 0, key = 0] = found.slice(-2);
      return query < rows && key < rows ? [query, key] : null;
    },
  };
  return { width: x + count * cell + 4, height: end + 4, items: pen.items, panels: [panel] };
}

const AHEAD = (palette: Palette): { stroke: string; line: number; dash: number } => {
  return { stroke: palette.hair, line: 1, dash: 3 };
};
