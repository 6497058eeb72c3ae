/** The heads of a part as small pictures in a row. */

import type { Palette } from "../../draw/colour.ts";
import type { Pen } from "../../draw/pen.ts";
import type { Spot } from "../../draw/spots.tsx";
import { counted } from "../../run/numbers.ts";
import { type Row, strengthOf } from "../heads/heads_scene.ts";

interface Area {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** Draws the heads of these attentions side by side, as far as there is room. */
export function drawStrip(
  attentions: readonly string[],
  rows: ReadonlyMap<string, Row>,
  area: Area,
  palette: Palette,
  pen: Pen,
  spots: Spot[],
): void {
  let left = area.x;
  for (const attention of attentions) {
    const row = rows.get(attention);
    if (row === undefined) continue;
    const [heads = 1] = row.heads.thumbnails.shape;
    const side = Math.min(area.h - 12, Math.floor((area.w / attentions.length - 8) / heads) - 3);
    if (side < 6) continue;
    const y = area.y + (area.h - side) / 2;
    for (let head = 0; head < heads; head++) {
      pen.items.push({
        kind: "image",
        x: left + head * (side + 3),
        y,
        w: side,
        h: side,
        ...dotsOf(row, head, side, palette),
      });
    }
    const w = heads * (side + 3) - 3;
    const crossing = attention.endsWith("cross_attention") ? "cross-attention, " : "";
    const label = `${crossing}${counted(heads, "head")}`;
    spots.push({ id: `heads ${attention}`, x: left - 4, y: y - 4, w: w + 8, h: side + 8, label });
    left += w + 16;
  }
}

/** At most two dots a pixel; of several shares in one the largest is seen. */
function dotsOf(
  { heads: { thumbnails } }: Row,
  head: number,
  side: number,
  palette: Palette,
): { columns: number; rows: number; pixels: Uint8ClampedArray<ArrayBuffer> } {
  const [, down = 1, along = 1] = thumbnails.shape;
  const [rows, columns] = [Math.min(down, side * 2), Math.min(along, side * 2)];
  const shares = new Float32Array(rows * columns);
  for (let place = 0; place < down * along; place++) {
    const [r, c] = [Math.floor(place / along), place % along];
    const at = Math.floor((r * rows) / down) * columns + Math.floor((c * columns) / along);
    shares[at] = Math.max(shares[at] ?? 0, thumbnails.data[head * down * along + place] ?? 0);
  }
  const pixels = new Uint8ClampedArray(shares.length * 4);
  shares.forEach((share, at) => {
    pixels.set(palette.bytes("attention", strengthOf(share)), at * 4);
    pixels[at * 4 + 3] = 255;
  });
  return { columns, rows, pixels };
}
