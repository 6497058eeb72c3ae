/** A sheet as an image: for a tensor whose cells are too many to be drawn one by one. */

import { type Palette, wordAt, wordsOf } from "./colour.ts";
import type { Sheet } from "./sheet.ts";

/**
 * A sheet as an image of so many rows and columns, a pixel for each cell or fewer: where several share a pixel, the
 * strongest is seen.
 */
export function imageOfSheet(
  sheet: Sheet,
  base: readonly number[],
  sentence: number,
  size: { readonly rows: number; readonly columns: number },
  palette: Palette,
): Uint8ClampedArray<ArrayBuffer> {
  const { drawn } = sheet;
  const { rows, columns } = size;
  const { data, start, down, along, hiddenRows, hiddenColumns } = sheet.grid(base, sentence);
  const [own, hidden] = [wordsOf(sheet.role, palette), wordsOf("hidden", palette)];
  const [strengthOf, hiddenStrengthOf] = [sheet.strengthOf(false), sheet.strengthOf(true)];
  const pixels = new Uint32Array(rows * columns);
  const strongest = new Float32Array(rows * columns).fill(-1);
  const across = Int32Array.from({ length: drawn.columns }, (_, column) =>
    Math.floor((column * columns) / drawn.columns),
  );
  for (let row = 0; row < drawn.rows; row++) {
    const [line, red] = [Math.floor((row * rows) / drawn.rows) * columns, hiddenRows[row] === true];
    for (let column = 0; column < drawn.columns; column++) {
      const stored = data[start + row * down + column * along] ?? 0;
      const hides = red || hiddenColumns[column] === true;
      const strength = hides ? hiddenStrengthOf(stored) : strengthOf(stored);
      const place = line + (across[column] ?? 0);
      if (strength <= (strongest[place] ?? 0)) continue;
      strongest[place] = strength;
      pixels[place] = wordAt(hides ? hidden : own, strength);
    }
  }
  return new Uint8ClampedArray(pixels.buffer);
}
