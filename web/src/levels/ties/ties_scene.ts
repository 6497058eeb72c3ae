/** Every head as a cell of bars: how much the word in hand looks at each of the words that are asked about. */

import type { Palette } from "../../draw/colour.ts";
import { Pen } from "../../draw/pen.ts";
import type { Scene } from "../../draw/scene.ts";
import { apart } from "../../numbers/apart.ts";
import { short } from "../../numbers/written.ts";
import type { Spot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import type { Tie } from "./ties.ts";

const [LEFT, TOP, GAP] = [56, 20, 8];
const LITTLE = 0.01;
const WIDEST = 224;
/** A bar, and the row of one that has digits next to it. */
const [BAR, ROW] = [7, 13];
/** Cells narrower than this have no digits. */
const DIGITS = 64;

/** How the bars of the first, the second and the third word differ: full, half, framed. */
export function drawBar(pen: Pen, place: number, x: number, y: number, w: number, palette: Palette): void {
  if (w < 0.5) return;
  const wide = Math.max(w, 1);
  if (place < 2) pen.rect(x, y, wide, BAR - 2, place === 0 ? palette.fill("attention") : palette.cell("residual", 0.7));
  else pen.frame(x + 0.5, y + 0.5, Math.max(wide - 1, 1), BAR - 3, palette.quiet);
}

/** The ties in their grid of blocks and heads; a frame in ink has the head that leads most. */
export function tiesScene(
  ties: readonly Tie[],
  words: readonly string[],
  best: string,
  palette: Palette,
  width: number,
): { scene: Scene; spots: Spot[] } {
  const pen = new Pen();
  const spots: Spot[] = [];
  const heads = Math.max(1, ...ties.map(({ head }) => head + 1));
  const pitch = Math.min(Math.floor((width - LEFT) / heads), WIDEST);
  const w = pitch - GAP;
  const row = w >= DIGITS ? ROW : BAR;
  const h = words.length * row + 6;
  // As many digits as tell the weights of a head apart, where they are more than next to nothing.
  const after = Math.max(
    2,
    ...ties.map(({ shares }) =>
      apart(
        shares.filter((share) => share > LITTLE),
        2,
      ),
    ),
  );
  const digits = w >= DIGITS ? 12 + 7 * after : 0;
  const most = Math.max(0.01, ...ties.flatMap(({ shares }) => shares));
  for (let head = 0; head < heads; head++) {
    const text = head === 0 && pitch > 48 ? say`head 0` : String(head);
    pen.text(LEFT + head * pitch + w / 2, TOP - 8, text, palette.quiet, { align: "center" });
  }
  let [line, block] = [-1, ""];
  for (const tie of ties) {
    if (tie.weights !== block) [line, block] = [line + 1, tie.weights];
    const [x, y] = [LEFT + tie.head * pitch, TOP + line * (h + GAP)];
    if (tie.head === 0) pen.text(LEFT - 8, y + h / 2 + 4, say`block ${tie.block}`, palette.quiet, { align: "right" });
    pen.rect(x, y, w, h, palette.faint);
    tie.shares.forEach((share, place) => {
      drawBar(pen, place, x + 3, y + 4 + place * row + (row - BAR) / 2, ((w - 6 - digits) * share) / most, palette);
      if (digits === 0) return;
      const text = share.toFixed(after).replace(/^0/, "");
      const bold = place === 0 && tie.lead > 0;
      pen.text(x + w - 3, y + 3 + (place + 0.5) * row + 4, text, palette.ink, { align: "right", bold });
    });
    if (tie.id === best) pen.items.push({ x: x - 1, y: y - 1, w: w + 2, h: h + 2, stroke: palette.ink, line: 2 });
    const label = say`block ${tie.block}, head ${tie.head}: ${words
      .map((word, place) => `${word} ${short(tie.shares[place] ?? 0)}`)
      .join(", ")}`;
    spots.push({ id: tie.id, x, y, w, h, label });
  }
  const height = TOP + (line + 1) * (h + GAP) + 2;
  return { scene: { width: Math.max(width, 1), height, items: pen.items, panels: [] }, spots };
}
