/** Writes a scene on a canvas. */

import type { Item, Scene } from "./scene.ts";

const painted = new WeakMap<HTMLCanvasElement, Scene>();

/** What a canvas of the page shows. */
export function sceneOn(canvas: HTMLCanvasElement): Scene | undefined {
  return painted.get(canvas);
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, sans: string): void {
  const { canvas } = context;
  const dots = (globalThis.devicePixelRatio || 1) * (canvas.currentCSSZoom ?? 1);
  const ratio = Math.max(1, Math.min(dots, 3));
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
  context.direction = "ltr"; // what is to be written leftwards is placed so, whatever the page's own direction
  gather(scene.items.filter((item) => "pixels" in item && !dotted.has(item.pixels)) as Image[]);
  const brush = new Brush(context, sans);
  for (const item of scene.items) brush.draw(item);
}

/** Draws one item. */
export function draw(context: CanvasRenderingContext2D, item: Item, sans: string): void {
  new Brush(context, sans).draw(item);
}

/** Draws items one after the other; a setting of the canvas, as its font, is not set again for the next. */
class Brush {
  readonly #context: CanvasRenderingContext2D;
  readonly #sans: string;
  readonly #told = { fill: "", stroke: "", line: 0, font: "", align: "" };

  constructor(context: CanvasRenderingContext2D, sans: string) {
    this.#context = context;
    this.#sans = sans;
  }

  draw(item: Item): void {
    const context = this.#context;
    if ("pixels" in item) drawImage(context, item);
    else if ("w" in item) {
      if (item.fill !== undefined) {
        this.#fill(item.fill);
        context.fillRect(item.x, item.y, item.w, item.h);
      }
      if (item.stroke !== undefined) {
        this.#stroke(item.stroke, item.line ?? 1);
        context.strokeRect(item.x, item.y, item.w, item.h);
      }
    } else if ("text" in item) {
      this.#fill(item.fill);
      this.#letters(`${item.bold === true ? "600 " : ""}${item.size ?? 12}px ${this.#sans}`, item.align ?? "left");
      if (item.turned === true) {
        context.save();
        context.translate(item.x, item.y);
        context.rotate(-Math.PI / 2);
        context.fillText(item.text, 0, 0);
        context.restore();
      } else {
        context.fillText(item.text, item.x, item.y);
      }
    } else if ("d" in item) {
      this.#stroke(item.stroke, item.line);
      if (item.dash !== undefined) context.setLineDash([item.dash, item.dash]);
      context.stroke(pathOf(item.d));
      if (item.dash !== undefined) context.setLineDash([]);
    } else {
      this.#fill(item.fill);
      context.beginPath();
      for (let at = 0; at < item.points.length; at += 2) {
        context.lineTo(item.points[at] ?? 0, item.points[at + 1] ?? 0);
      }
      context.fill();
    }
  }

  #fill(colour: string): void {
    if (this.#told.fill === colour) return;
    this.#told.fill = colour;
    this.#context.fillStyle = colour;
  }

  #stroke(colour: string, line: number): void {
    if (this.#told.stroke !== colour) {
      this.#told.stroke = colour;
      this.#context.strokeStyle = colour;
    }
    if (this.#told.line === line) return;
    this.#told.line = line;
    this.#context.lineWidth = line;
  }

  #letters(font: string, align: CanvasTextAlign): void {
    if (this.#told.font !== font) {
      this.#told.font = font;
      this.#context.font = font;
    }
    if (this.#told.align === align) return;
    this.#told.align = align;
    this.#context.textAlign = align;
  }
}

/** Paths met so far: the signs of the cells stand where they stood in the picture of the run before. */
const paths = new Map<string, Path2D>();
const PATHS = 4000;

function pathOf(d: string): Path2D {
  let found = paths.get(d);
  if (found === undefined) {
    if (paths.size === PATHS) paths.clear();
    found = new Path2D(d);
    paths.set(d, found);
  }
  return found;
}

/** Where the dots of an image stand: in a canvas of as many images as are new in one picture. */
interface Dotted {
  readonly canvas: OffscreenCanvas;
  readonly y: number;
}

type Image = Extract<Item, { pixels: unknown }>;

const dotted = new WeakMap<Uint8ClampedArray, Dotted>();

/** A canvas of several images has at most so many rows, and dots. */
const [LONGEST, LARGEST] = [8192, 2_000_000];

/** Puts images below each other into one canvas: a canvas for each of a block's hundred costs more than its dots. */
function gather(images: readonly Image[]): void {
  let from = 0;
  while (from < images.length) {
    let [to, width, height] = [from, 0, 0];
    for (; to < images.length; to++) {
      const { columns, rows } = images[to] as Image;
      const [wide, high] = [Math.max(width, columns), height + rows];
      if (to > from && (high > LONGEST || wide * high > LARGEST)) break;
      [width, height] = [wide, high];
    }
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d");
    let y = 0;
    for (const { pixels, columns, rows } of images.slice(from, to)) {
      context?.putImageData(new ImageData(pixels, columns, rows), 0, y);
      dotted.set(pixels, { canvas, y });
      y += rows;
    }
    from = to;
  }
}

function drawImage(context: CanvasRenderingContext2D, item: Image): void {
  if (!dotted.has(item.pixels)) gather([item]);
  const found = dotted.get(item.pixels);
  if (found === undefined) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(found.canvas, 0, found.y, item.columns, item.rows, item.x, item.y, item.w, item.h);
}
