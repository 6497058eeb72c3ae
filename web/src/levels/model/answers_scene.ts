/** What a model answered: words with their probabilities as bars on one scale. */

import { cut, type Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import type { Pen } from "../../draw/pen.ts";
import { percent } from "../../numbers/written.ts";
import type { Spot } from "../../views/spots.tsx";
import type { Prediction } from "./predictions.ts";

export interface Look {
  readonly palette: Palette;
  readonly measure: Measure;
}

/** Below this width a part of the model, and what it answers, have two lines. */
export const NARROW = 520;

/** Draws them from `y` on; returns where they end. */
export function drawAnswers(
  predictions: readonly Prediction[],
  x: number,
  y: number,
  w: number,
  { palette, measure }: Look,
  pen: Pen,
  spots: Spot[],
): number {
  const stroke = palette.fill("residual");
  pen.line(`M${x + 20} ${y}V${y + 25}`, stroke);
  pen.arrow(x + 20, y + 25, "down", stroke);
  const narrow = w < NARROW;
  const widest = Math.max(...predictions.map(({ asked }) => measure(asked, 14, true)));
  // In a narrow picture what was asked has a line of its own.
  const start = narrow ? 0 : Math.min(w * 0.28, widest + 16);
  const room = (w - start) / Math.max(1, ...predictions.map(({ guesses }) => guesses.length));
  let top = y + 32;
  for (const { asked, hidden, guesses } of predictions) {
    const fill = hidden ? palette.text("hidden") : palette.ink;
    const kept = cutAt(asked, (narrow ? w : start) - 8, measure, true);
    pen.text(x, top + 15, kept, fill, { size: 14, bold: true });
    if (narrow) top += 20;
    guesses.forEach(({ text, share, right, name, cell }, order) => {
      const [left, wide, first] = [x + start + order * room, room - 12, order === 0];
      const ink = first ? palette.ink : palette.quiet;
      const told = `${percent(share)}${right === true ? " ✓" : ""}`;
      const own = cutAt(text, wide - measure(told, 14) - 8, measure, first);
      pen.text(left, top + 15, own, ink, { size: 14, bold: first });
      pen.text(left + wide, top + 15, told, ink, { size: 14, align: "right" });
      pen.rect(left, top + 20, wide, 4, palette.faint);
      pen.rect(left, top + 20, Math.max(1, wide * share), 4, palette.fill("hidden"));
      const id = `number ${name} ${cell.join()}`;
      spots.push({ id, x: left, y: top - 2, w: wide, h: 30, label: `${text}: ${told}` });
    });
    top += 36;
  }
  return top;
}

function cutAt(text: string, width: number, measure: Measure, bold: boolean): string {
  return cut(text, width, (each) => measure(each, 14, bold));
}
