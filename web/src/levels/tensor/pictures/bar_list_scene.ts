/** Numbers as bars below each other, each with its name and its digits. */

import { cut, type Look } from "../../../draw/box.ts";
import type { Item, Panel, Scene } from "../../../draw/scene.ts";
import type { Row } from "./kind.ts";

/** A line of the table with the length of its bar, from 0 to 1. That of several numbers together is drawn hollow. */
export interface Bar extends Row {
  readonly share: number;
}

const [ROW, LEFT, DIGITS, MARK] = [28, 112, 72, 104];

export function barListScene(bars: readonly Bar[], { palette, measure }: Look, width: number): Scene {
  const items: Item[] = [];
  const panels: Panel[] = [];
  const left = width < 480 ? 88 : LEFT;
  const wide = Math.max(width - left - DIGITS - MARK, 40);
  bars.forEach((bar, order) => {
    const y = order * ROW;
    const held = bar.mark !== "";
    const fill = held ? palette.text("hidden") : palette.ink;
    const text = cut(bar.label, left - 12, measure);
    items.push({ x: left - 8, y: y + 18, text, fill, bold: held, align: "right" });
    const area = { x: left, y: y + 4, w: Math.max(bar.share * wide, 1), h: ROW - 8 };
    if (bar.tensor === "") items.push({ ...area, stroke: palette.quiet });
    else items.push({ ...area, fill: held ? palette.fill("hidden") : palette.cell("hidden", 0.45) });
    const x = left + area.w + 8;
    items.push({ x, y: y + 18, text: bar.digits, fill: palette.ink });
    if (held) {
      const mark = cut(bar.mark, MARK, measure);
      items.push({ x: x + measure(bar.digits, 12) + 12, y: y + 18, text: mark, fill });
    }
    if (bar.tensor === "") return;
    panels.push({
      tensor: bar.tensor,
      ...{ x: 0, y, w: width, h: ROW, rows: 1, columns: 1 },
      cell: () => [...bar.cell],
      find: (cell) => (bar.cell.join() === cell.join() ? [0, 0] : null),
    });
  });
  return { width, height: bars.length * ROW + 4, items, panels };
}
