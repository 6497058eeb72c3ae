/** Where something red is drawn, the page says what it is. */

import type { Scene } from "../draw/scene.ts";
import type { Names } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";

/** Whether a hidden word is written in the picture, or has a row in it that had no room for its word. */
export function hasHidden(scene: Scene | null, fill: string, names: Names, sentence: number): boolean {
  if (scene === null) return false;
  // Answers are red too.
  if (!names.run.words.answers.some(([row]) => row === sentence)) return false;
  if (scene.items.some((item) => "text" in item && item.fill === fill)) return true;
  return scene.panels.some(({ tensor, rows, columns, cell }) => {
    const red = (at: readonly number[]): boolean => {
      return names.axes(tensor).some((axis, place) => {
        return names.hides(tensor, axis) && names.label(tensor, axis, at[place] ?? 0, sentence).hidden;
      });
    };
    const down = range(rows, (row) => cell(row, 0));
    const along = range(columns, (column) => cell(0, column));
    return [...down, ...along].some(red);
  });
}
