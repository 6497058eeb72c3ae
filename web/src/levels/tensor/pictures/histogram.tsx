/** The numbers of a slice by size. */

import { short } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";
import { besides, countedIn, histogramScene } from "./histogram_scene.ts";
import type { Kind } from "./kind.ts";

export const histogram: Kind = {
  text: say`as a histogram`,
  fits: (sheet) => sheet.rows * sheet.columns > 1,
  draw({ sheet, cell, look, width }) {
    const found = countedIn(sheet, cell);
    const step = (found.high - found.low) / found.bins.length;
    const edge = (order: number): string => short(found.low + order * step);
    return {
      scene: histogramScene(sheet, found, look.palette, Math.min(width, 820)),
      above: (
        <p class="says plain">
          {say`${besides(found)}. Click a column: one of its numbers, and the next one with each click.`}
        </p>
      ),
      table: found.bins.map(({ count, cell: one }, order) => ({
        label: say`${edge(order)} to ${edge(order + 1)}`,
        digits: String(count),
        tensor: one === null ? "" : sheet.name,
        cell: one ?? [],
        mark: order === found.held ? say`in hand` : "",
      })),
      step: (down, along) => {
        let next = found.held + down + along;
        while (found.bins[next]?.cell === null) next += down + along;
        return found.bins[next]?.cell ?? null;
      },
    };
  },
};
