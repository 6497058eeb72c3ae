/** Writes scenes on a canvas of their own, as a PNG file. */

import { draw } from "./canvas.ts";
import type { Letters, Plate } from "./svg.ts";

/** No browser has a canvas with a longer side or a larger area. */
const [LONGEST, LARGEST] = [16_384, 120_000_000];

/** The picture at `scale` dots to a point, fewer where it would be too large; 2 are crisp in print and on any screen. */
export async function rasterOf(plate: Plate, scale = 2): Promise<Blob> {
  const { width, height, parts } = plate;
  const most = Math.min(LONGEST / Math.max(width, height), Math.sqrt(LARGEST / (width * height)));
  const ratio = Math.min(scale, most);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser gives no canvas to draw on");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = plate.paper;
  context.fillRect(0, 0, width, height);
  for (const { x, y, items } of parts) {
    context.save();
    context.translate(x, y);
    for (const item of items) {
      if (item.kind === "letters") write(context, item, plate.sans);
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
