/** The alignment as it grows: a row for each word that is written, and how much it looked at each word of the source. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { strengthOf } from "../../draw/marks.ts";
import { Pen } from "../../draw/pen.ts";
import type { Scene } from "../../draw/scene.ts";
import type { Share } from "./weights.ts";

const [LABEL, TOP, LARGEST, SMALLEST, NAMED] = [104, 72, 40, 6, 14];

export interface Alignment {
  readonly tensor: string;
  readonly source: readonly string[];
  /** What was written in each step, from the first. */
  readonly words: readonly string[];
  /** The step of the first row. */
  readonly first: number;
  /** The step in hand: those after it are not yet written. */
  readonly step: number;
  readonly share: Share;
  cell(query: number, key: number): number[];
}

export function alignmentScene(of: Alignment, palette: Palette, measure: Measure, width: number): Scene {
  const pen = new Pen();
  const { source, words, first, step, share, tensor } = of;
  const columns = Math.max(1, source.length);
  const cell = Math.max(SMALLEST, Math.min(LARGEST, Math.floor((width - LABEL - 24) / columns)));
  const high = Math.min(24, cell);
  const rows = Math.max(0, Math.min(step - first + 1, words.length));
  const [x, y] = [LABEL, TOP];
  if (cell >= NAMED) {
    for (const [key, word] of source.entries()) {
      const text = cut(word, TOP - 12, measure);
      pen.items.push({
        ...{ x: x + key * cell + cell / 2 + 4, y: y - 8, text },
        ...{ fill: palette.ink, turned: true },
      });
    }
  }
  for (let row = 0; row < rows; row++) {
    const own = first + row === step;
    for (let key = 0; key < columns; key++) {
      const fill = palette.cell("attention", strengthOf(share(first + row, key)));
      pen.rect(x + key * cell, y + row * high, cell, high, fill);
    }
    if (high >= NAMED) {
      const text = cut(words[row] ?? "", LABEL - 12, measure);
      pen.text(x - 8, y + row * high + high / 2 + 4, text, own ? palette.ink : palette.quiet, {
        align: "right",
        bold: own,
      });
    }
  }
  const end = y + words.length * high;
  pen.frame(x - 0.5, y - 0.5, columns * cell + 1, words.length * high + 1, palette.hair);
  if (rows > 0) pen.frame(x - 1, y + (rows - 1) * high - 1, columns * cell + 2, high + 2, palette.ink);
  const panel = {
    ...{ tensor, x, y, w: columns * cell, h: rows * high, rows, columns },
    cell: (row: number, key: number): number[] => of.cell(first + row, key),
    find: (found: readonly number[]): [number, number] | null => {
      const [query = 0, key = 0] = found.slice(-2);
      return query >= first && query < first + rows && key < columns ? [query - first, key] : null;
    },
  };
  return { width: x + columns * cell + 24, height: end + 4, items: pen.items, panels: rows > 0 ? [panel] : [] };
}
