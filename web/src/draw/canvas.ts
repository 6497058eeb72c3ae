/** Writes a scene on a canvas. */

import type { Item, Scene } from "./scene.ts";

const painted = new WeakMap<HTMLCanvasElement, Scene>();

/** What a canvas of the page shows. */
export function sceneOn(canvas: HTMLCanvasElement): Scene | undefined {
  return painted.get(canvas);
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, sans: string): void {
  const ratio = Math.max(1, Math.min(globalThis.devicePixelRatio || 1, 3));
  const { canvas } = context;
  painted.set(canvas, scene);
  const [width, height] = [Math.ceil(scene.width * ratio), Math.ceil(scene.height * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${scene.width}px`;
    canvas.style.height = `${scene.height}px`;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, scene.width, scene.height);
  context.textBaseline = "alphabetic";
  for (const item of scene.items) draw(context, item, sans);
}

export function draw(context: CanvasRenderingContext2D, item: Item, sans: string): void {
  switch (item.kind) {
    case "rect":
      if (item.fill !== undefined) {
        context.fillStyle = item.fill;
        context.fillRect(item.x, item.y, item.w, item.h);
      }
      if (item.stroke !== undefined) {
        context.strokeStyle = item.stroke;
        context.lineWidth = item.line ?? 1;
        context.strokeRect(item.x, item.y, item.w, item.h);
      }
      return;
    case "polygon":
      context.fillStyle = item.fill;
      context.beginPath();
      for (let at = 0; at < item.points.length; at += 2) {
        context.lineTo(item.points[at] ?? 0, item.points[at + 1] ?? 0);
      }
      context.fill();
      return;
    case "path":
      context.strokeStyle = item.stroke;
      context.lineWidth = item.line;
      context.setLineDash(item.dash === undefined ? [] : [item.dash, item.dash]);
      context.stroke(new Path2D(item.d));
      context.setLineDash([]);
      return;
    case "text":
      context.fillStyle = item.fill;
      context.font = `${item.bold === true ? "600 " : ""}${item.size}px ${sans}`;
      context.textAlign = item.align ?? "left";
      if (item.turned === true) {
        context.save();
        context.translate(item.x, item.y);
        context.rotate(-Math.PI / 2);
        context.fillText(item.text, 0, 0);
        context.restore();
      } else {
        context.fillText(item.text, item.x, item.y);
      }
      return;
    case "image":
      context.imageSmoothingEnabled = false;
      context.drawImage(bitmap(item), item.x, item.y, item.w, item.h);
  }
}

const bitmaps = new WeakMap<Uint8ClampedArray, OffscreenCanvas>();

function bitmap(item: Extract<Item, { kind: "image" }>): OffscreenCanvas {
  let found = bitmaps.get(item.pixels);
  if (found === undefined) {
    found = new OffscreenCanvas(item.columns, item.rows);
    found.getContext("2d")?.putImageData(new ImageData(item.pixels, item.columns, item.rows), 0, 0);
    bitmaps.set(item.pixels, found);
  }
  return found;
}
