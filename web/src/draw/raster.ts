/** Writes scenes on a canvas of their own, as a PNG file. */

import { draw } from "./canvas.ts";
import type { Letters, Plate } from "./svg.ts";

/** No browser has a canvas with a longer side or a larger area. */
const [LONGEST, LARGEST] = [16_384, 120_000_000];

/** The picture at `scale` dots to a point, fewer where it would be too large; 2 are crisp in print and on any screen. */
export async function rasterOf(plate: Plate, scale = 2): Promise<Blob> {
  const { width, height } = plate;
  const most = Math.min(LONGEST / Math.max(width, height), Math.sqrt(LARGEST / (width * height)));
  return drawn(plate, Math.min(scale, most), width, height);
}

/** What services show with a link to a view, and the least scale at which it can be read: a longer view is cut below. */
const CARD = { width: 1200, height: 630, least: 0.8 };

/** The picture in the size that services show with a link, as large as it fits and in the middle. */
export async function cardOf(plate: Plate): Promise<Blob> {
  const { width, height, least } = CARD;
  const ratio = Math.min(width / plate.width, Math.max(height / plate.height, least), 2);
  return drawn(plate, ratio, width / ratio, height / ratio);
}

/** A picture within a width and a height, at so many dots to a point. */
function drawn(plate: Plate, ratio: number, width: number, height: number): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * ratio - 1e-6);
  canvas.height = Math.ceil(height * ratio - 1e-6);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser gives no canvas to draw on");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = plate.paper;
  context.fillRect(0, 0, width, height);
  context.translate(Math.max(0, width - plate.width) / 2, Math.max(0, height - plate.height) / 2);
  for (const { x, y, items } of plate.parts) {
    context.save();
    context.translate(x, y);
    for (const item of items) {
      if ("family" in item) write(context, item, plate.sans);
      else draw(context, item, plate.sans);
    }
    context.restore();
  }
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => {
      if (blob === null) reject(new Error("this browser could not write the picture"));
      else resolve(blob);
    }, "image/png");
  });
}

function write(context: CanvasRenderingContext2D, item: Letters, sans: string): void {
  context.fillStyle = item.fill;
  context.font = `${item.slanted ? "italic " : ""}${item.weight} ${item.size}px ${item.family === "" ? sans : item.family}`;
  context.direction = item.leftwards ? "rtl" : "ltr";
  context.textAlign = "start";
  context.fillText(item.text, item.x, item.y);
  context.direction = "ltr";
}
