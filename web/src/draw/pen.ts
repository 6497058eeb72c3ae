/** Writes the items of a scene, in short. */

import type { Align, Item } from "./scene.ts";

export class Pen {
  readonly items: Item[];

  constructor(items: Item[] = []) {
    this.items = items;
  }

  text(
    x: number,
    y: number,
    text: string,
    fill: string,
    more: { size?: 14; bold?: boolean; align?: Align } = {},
  ): void {
    if (text !== "") this.items.push({ x, y, text, fill, ...more });
  }

  rect(x: number, y: number, w: number, h: number, fill: string): void {
    this.items.push({ x, y, w, h, fill });
  }

  frame(x: number, y: number, w: number, h: number, stroke: string): void {
    this.items.push({ x, y, w, h, stroke });
  }

  line(d: string, stroke: string): void {
    this.items.push({ d, stroke, line: 1.5 });
  }

  /** The head of an arrow that ends at x, y: to the right, to the left, or down. */
  arrow(x: number, y: number, to: "right" | "left" | "down", stroke: string): void {
    const [along, aside] = to === "down" ? [0, 4] : [to === "right" ? -5 : 5, 0];
    const d =
      to === "down"
        ? `M${x - aside} ${y - 5}L${x} ${y}L${x + aside} ${y - 5}`
        : `M${x + along} ${y - 4}L${x} ${y}L${x + along} ${y + 4}`;
    this.line(d, stroke);
  }
}
