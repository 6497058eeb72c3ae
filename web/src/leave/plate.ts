/** A view as a picture that stands on its own: what it shows, and above it in one line what it is of. */

import type { Palette } from "../draw/colour.ts";
import type { Letters, Plate } from "../draw/svg.ts";
import { SANS } from "../views/picture.tsx";
import { say } from "../words/say.ts";
import { seenIn } from "./seen.ts";

const [MARGIN, HEAD] = [24, 32];

export function plateOf(main: HTMLElement, title: string, palette: Palette): Plate {
  const { parts, area } = seenIn(main);
  if (parts.length === 0) throw new Error(say`there is nothing to be seen here yet`);
  const head: Letters = {
    ...{ x: 0, y: 12, text: title, family: "", size: 12, weight: 400, slanted: false },
    ...{ fill: palette.quiet, leftwards: false },
  };
  const move = { x: MARGIN - area.left, y: MARGIN + HEAD - area.top };
  return {
    width: Math.ceil(area.right - area.left) + 2 * MARGIN,
    height: Math.ceil(area.bottom - area.top) + 2 * MARGIN + HEAD,
    paper: palette.paper,
    sans: SANS,
    title,
    parts: [
      { x: MARGIN, y: MARGIN, items: [head] },
      ...parts.map(({ x, y, items }) => ({ x: x + move.x, y: y + move.y, items })),
    ],
  };
}
