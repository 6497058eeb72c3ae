/** One formula in loops over flat places: where each of its cells reads its operands. */

import { sizeOf } from "../numbers/safetensors.ts";
import { axisNames, readAxes } from "../record/axes.ts";
import type { Formula, Operand, RunRecord } from "../record/record.ts";
import { type Fetch, Fields, MissingTensor } from "./evaluator.ts";

export type Numbers = Pick<RunRecord, "scored_at" | "precision">;

/** Where each cell of the result reads an operand: `at` by its flat place; the offsets along the axes it lacks. */
export interface Read {
  readonly name: string;
  readonly data: ArrayLike<number>;
  readonly at: Int32Array;
  along(axis: string): Int32Array;
}

/** One formula with its tensors at hand, and the shape of its result. */
export class Loop {
  readonly fields: Fields;
  readonly axes: readonly string[];
  readonly shape: readonly number[];
  readonly size: number;
  readonly precision: RunRecord["precision"];
  readonly #fetch: Fetch;
  readonly #scoredAt: readonly number[] | null;
  /** Results that are the same when the formula is run again. */
  readonly settled = new Map<number, number>();
  /** Where operands are read: worked out once, for a formula may be run again on the same tensors. */
  readonly #reads = new Map<Operand, Read>();

  constructor(formula: Formula, shape: readonly number[], fetch: Fetch, run: Numbers) {
    this.precision = run.precision;
    this.fields = new Fields(formula.rule);
    this.axes = axisNames(formula.axes);
    this.shape = shape;
    this.size = sizeOf(shape);
    this.#fetch = fetch;
    this.#scoredAt = run.scored_at;
  }

  /** How an operand is read. */
  read(operand: Operand): Read {
    const known = this.#reads.get(operand);
    if (known !== undefined) return known;
    const { name } = operand;
    const tensor = this.#fetch(operand.name);
    if (tensor === undefined) throw new MissingTensor(operand.name);
    const tables = offsets(operand, tensor.shape, this.#scoredAt);
    let at = new Int32Array(1);
    this.axes.forEach((axis, place) => {
      at = spread(at, tables.get(axis), this.shape[place] ?? 1);
    });
    const found = { name, data: tensor.data, at, along: (axis: string) => tables.get(axis) ?? new Int32Array(1) };
    this.#reads.set(operand, found);
    return found;
  }

  maybe(role: string): Read | null {
    const operand = this.fields.maybe(role);
    return operand === null ? null : this.read(operand);
  }

  operand(role: string): Read {
    return this.read(this.fields.operand(role));
  }

  /** The flat places where an axis has the index 0, how long it is, and the step along it. */
  rows(over: string): { starts: number[]; count: number; step: number } {
    const axis = this.axes.indexOf(over);
    const [count, step] = [this.shape[axis] ?? 1, sizeOf(this.shape.slice(axis + 1))];
    const starts: number[] = [];
    for (let first = 0; first < this.size; first += count * step) {
      for (let place = 0; place < step; place++) starts.push(first + place);
    }
    return { starts, count, step };
  }
}

/** The offset of each index along each named axis of an operand. */
export function offsets(
  operand: Operand,
  shape: readonly number[],
  scoredAt: readonly number[] | null,
): Map<string, Int32Array> {
  const tables = new Map<string, Int32Array>();
  let axis = 0;
  const stride = (place: number): number => sizeOf(shape.slice(place + 1));
  for (const step of readAxes(operand.axes)) {
    const size = shape[axis] ?? 1;
    if (step.kind === "group") {
      const inner = size / step.count;
      tables.set(
        step.outer,
        table(step.count, (index) => index * inner * stride(axis)),
      );
      tables.set(
        step.inner,
        table(inner, (index) => index * stride(axis)),
      );
      axis += 1;
    } else if (step.kind === "place") {
      const tokens = shape[axis + 1] ?? 1;
      const places = scoredAt ?? [];
      const flat = (index: number): number => {
        const place = places[index] ?? 0;
        return Math.floor(place / tokens) * stride(axis) + (place % tokens) * stride(axis + 1);
      };
      tables.set(step.name, table(places.length, flat));
      axis += 2;
    } else {
      // What is shared by all along an axis is read at its only index.
      if (size > 1)
        tables.set(
          step.name,
          table(size * step.serves, (index) => Math.floor(index / step.serves) * stride(axis)),
        );
      axis += 1;
    }
  }
  return tables;
}

function table(size: number, offset: (index: number) => number): Int32Array {
  return Int32Array.from({ length: size }, (_, index) => offset(index));
}

/** One more axis: each place so far, at each index along it. */
function spread(at: Int32Array, along: Int32Array | undefined, size: number): Int32Array<ArrayBuffer> {
  const found = new Int32Array(at.length * size);
  let place = 0;
  for (let before = 0; before < at.length; before++) {
    const base = at[before] ?? 0;
    for (let index = 0; index < size; index++) found[place++] = base + (along?.[index] ?? 0);
  }
  return found;
}
