/** The heads of a part as small pictures in a row. */

import { imageOf, type Palette } from "../../draw/colour.ts";
import { strengthOf } from "../../draw/marks.ts";
import type { Pen } from "../../draw/pen.ts";
import { counted } from "../../numbers/written.ts";
import type { Spot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import type { Row } from "../heads/heads_scene.ts";

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
    const { w, ...image } = dotsOf(row, side, palette);
    pen.items.push({ x: left, y, w, h: side, ...image });
    const crossing = attention.endsWith("cross_attention") ? say`cross-attention, ` : "";
    const label = `${crossing}${counted(heads, "head")}`;
    spots.push({ id: `heads ${attention}`, x: left - 4, y: y - 4, w: w + 8, h: side + 8, label });
    left += w + 16;
  }
}

const GAP = 3;

/** All heads in one image, at most two dots a pixel, with gaps that stay empty; of several shares in one the largest. */
function dotsOf(
  { heads: { thumbnails } }: Row,
  side: number,
  palette: Palette,
): { columns: number; rows: number; w: number; pixels: Uint8ClampedArray<ArrayBuffer> } {
  const [heads = 1, down = 1, along = 1] = thumbnails.shape;
  const rows = Math.min(down, side * 2);
  // Few tokens have several dots each: a gap is narrower than one of them.
  const across = Math.min(along, side * 2) * Math.max(1, Math.round(side / along));
  const gap = Math.max(1, Math.round((GAP * across) / side));
  const columns = heads * (across + gap) - gap;
  const shares = new Float32Array(rows * columns).fill(-1);
  // Drawn in the first view of a large model, of 150,000 dots: what is the same for all rows is worked out once.
  const first = Int32Array.from({ length: along + 1 }, (_, c) => Math.floor((c * across) / along));
  const { data } = thumbnails;
  let place = 0;
  for (let head = 0; head < heads; head++) {
    for (let r = 0; r < down; r++) {
      const row = Math.floor((r * rows) / down) * columns + head * (across + gap);
      for (let c = 0; c < along; c++) {
        const share = strengthOf(data[place++] ?? 0);
        const begin = first[c] ?? 0;
        const end = Math.max(first[c + 1] ?? 0, begin + 1);
        for (let dot = row + begin; dot < row + end; dot++) if (share > (shares[dot] ?? 0)) shares[dot] = share;
      }
    }
  }
  const pixels = imageOf(shares, "attention", palette);
  return { columns, rows, w: (columns * side) / across, pixels };
}
