/** What stands for a tensor that is too large to be had whole: a picture of it, or a part with its digits. */

import { at, metadataOf, readTensors, type Tensor } from "./safetensors.ts";

/** A tensor of which single numbers are sent, and not all of them. */
interface Partial extends Tensor {
  value(index: readonly number[]): number;
}

/** One number of a tensor, whole or not. */
export function numberAt(tensor: Tensor, index: readonly number[]): number {
  return isPartial(tensor) ? tensor.value(index) : at(tensor, index);
}

export function isPartial(tensor: Tensor): tensor is Partial {
  return "value" in tensor;
}

/** The power by which small numbers are lifted, in pictures as on the canvas. */
export const LIFT = 0.7;

/** What each byte of a picture stands for as a share of its scale. */
const SHARES = Float64Array.from({ length: 256 }, (_, dot) => {
  return dot === 0 ? Number.NaN : Math.sign(dot - 128) * (Math.abs(dot - 128) / 127) ** (1 / LIFT);
});

/**
 * One byte for several numbers, the one farthest from 0: fit for colours, not for digits. 128 stands for 0, 1 and 255 for
 * `scale` and what is beyond it, 0 for what is not finite or was filled.
 */
export class Dots implements Partial {
  /** The shape of the tensor itself. */
  readonly shape: readonly number[];
  readonly dots: Tensor;
  readonly scale: number;
  /** What each byte stands for. */
  readonly table: Float32Array;

  constructor(shape: readonly number[], dots: Tensor, scale: number) {
    this.shape = shape;
    this.dots = dots;
    this.scale = scale;
    this.table = Float32Array.from(SHARES, (share) => share * scale);
  }

  get data(): never {
    throw new Error("a picture of a tensor has no digits");
  }

  value(index: readonly number[]): number {
    const place = index.map((step, axis) => {
      const [whole, drawn] = [this.shape[axis] ?? 1, this.dots.shape[axis] ?? 1];
      return whole === drawn ? step : Math.floor((step * drawn) / whole);
    });
    return this.table[at(this.dots, place)] ?? Number.NaN;
  }
}

/** A window into a tensor, with its digits. */
export class Part implements Partial {
  readonly shape: readonly number[];
  readonly part: Tensor;
  readonly start: readonly number[];

  constructor(shape: readonly number[], part: Tensor, start: readonly number[]) {
    this.shape = shape;
    this.part = part;
    this.start = start;
  }

  get data(): never {
    throw new Error("a part of a tensor does not have all its numbers");
  }

  value(index: readonly number[]): number {
    return at(
      this.part,
      index.map((step, axis) => ((this.part.shape[axis] ?? 1) === 1 ? 0 : step - (this.start[axis] ?? 0))),
    );
  }
}

/** A tensor of at most so many numbers is fetched whole to be drawn; of a larger one a picture is. */
export const DRAWN_WHOLE = 4096;

/** Dots of one byte: 0 is not finite or not above 0, 1 the lowest number, 255 the highest, on a logarithmic scale. */
export interface Picture {
  readonly dots: Tensor;
  readonly lowest: number;
  readonly highest: number;
}

/** A picture as a server sends it. */
export function pictureOf(bytes: ArrayBuffer, name: string): Picture {
  const dots = readTensors(bytes).get("picture");
  const told = metadataOf(bytes);
  if (dots === undefined) throw new Error(`the server has sent no picture of ${name}`);
  return { dots, lowest: Number(told["lowest"]), highest: Number(told["highest"]) };
}
