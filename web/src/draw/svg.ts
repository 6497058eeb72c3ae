/** Writes scenes as SVG: text stays text, images of cells are PNG files inside, nothing is fetched. */

import { pngOf } from "./png.ts";
import type { Item } from "./scene.ts";

/** A line of letters in a font of its own: what a view writes next to its scenes. */
export interface Letters {
  readonly x: number;
  /** The line on which the letters stand. */
  readonly y: number;
  readonly text: string;
  readonly family: string;
  readonly size: number;
  readonly weight: number;
  readonly slanted: boolean;
  readonly fill: string;
  /** Runs to the left from x. */
  readonly leftwards: boolean;
}

/** Things to draw, moved to a place. */
export interface Placed {
  readonly x: number;
  readonly y: number;
  readonly items: readonly (Item | Letters)[];
}

/** All that a saved picture shows. */
export interface Plate {
  readonly width: number;
  readonly height: number;
  readonly paper: string;
  /** The family of the letters of scenes. */
  readonly sans: string;
  readonly title: string;
  readonly parts: readonly Placed[];
}

export async function svgOf(plate: Plate): Promise<string> {
  const { width, height } = plate;
  const parts = await Promise.all(
    plate.parts.map(async ({ x, y, items }) => {
      const inside = (await Promise.all(items.map(itemOf))).join("\n");
      return x === 0 && y === 0 ? inside : `<g transform="translate(${num(x)} ${num(y)})">\n${inside}\n</g>`;
    }),
  );
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<svg xmlns="http://www.w3.org/2000/svg" width="${num(width)}" height="${num(height)}" ` +
      `viewBox="0 0 ${num(width)} ${num(height)}" role="img" font-family="${escaped(plate.sans)}" ` +
      'style="font-variant-numeric:tabular-nums;white-space:pre">',
    `<title>${escaped(plate.title)}</title>`,
    `<rect width="100%" height="100%" fill="${escaped(plate.paper)}"/>`,
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

const ANCHORS = { left: "", center: ' text-anchor="middle"', right: ' text-anchor="end"' };

async function itemOf(item: Item | Letters): Promise<string> {
  if ("family" in item) {
    const family = item.family === "" ? "" : ` font-family="${escaped(item.family)}"`;
    const weight = item.weight === 400 ? "" : ` font-weight="${item.weight}"`;
    const style = `${item.slanted ? ' font-style="italic"' : ""}${item.leftwards ? ' direction="rtl"' : ""}`;
    const size = ` font-size="${num(item.size)}"`;
    return `<text${place(item)}${family}${size}${weight}${style} fill="${escaped(item.fill)}">${escaped(item.text)}</text>`;
  }
  if ("text" in item) {
    const at = item.turned === true ? ` transform="translate(${num(item.x)} ${num(item.y)}) rotate(-90)"` : place(item);
    const bold = item.bold === true ? ' font-weight="600"' : "";
    const anchor = ANCHORS[item.align ?? "left"];
    return `<text${at} font-size="${item.size ?? 12}"${bold}${anchor} fill="${escaped(item.fill)}">${escaped(item.text)}</text>`;
  }
  if ("points" in item) return `<polygon points="${item.points.map(num).join(" ")}" fill="${escaped(item.fill)}"/>`;
  if ("d" in item) {
    const dash = item.dash === undefined ? "" : ` stroke-dasharray="${num(item.dash)}"`;
    return `<path d="${escaped(item.d)}" fill="none"${stroke(item.stroke, item.line)}${dash}/>`;
  }
  if ("pixels" in item) {
    const bytes = await pngOf(item.columns, item.rows, item.pixels);
    const data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    return (
      `<image${area(item)} preserveAspectRatio="none" style="image-rendering:pixelated" ` +
      `href="data:image/png;base64,${data}"/>`
    );
  }
  const line = item.stroke === undefined ? "" : stroke(item.stroke, item.line ?? 1);
  return `<rect${area(item)} fill="${escaped(item.fill ?? "none")}"${line}/>`;
}

function area({ x, y, w, h }: { x: number; y: number; w: number; h: number }): string {
  return `${place({ x, y })} width="${num(w)}" height="${num(h)}"`;
}

function place({ x, y }: { x: number; y: number }): string {
  return ` x="${num(x)}" y="${num(y)}"`;
}

function stroke(colour: string, width: number): string {
  return ` stroke="${escaped(colour)}" stroke-width="${num(width)}"`;
}

/** A hundredth of a point is seen by nobody. */
function num(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** Characters that XML does not have, not even escaped, and halves of a pair. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text as it stands in XML: a word that looks like an element stays a word. */
export function escaped(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"']/g, (sign) => SIGNS[sign] ?? sign);
}
