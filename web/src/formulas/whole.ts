/**
 * Whole tensors by their formulas, in loops over flat places: what a page needs to follow a change while a person types.
 *
 * An operand's place is a sum of one offset for each named axis of the result, so each axis has a table of offsets and
 * no cell needs an object. Rules that are not listed here are worked out cell by cell by the interpreter; the tests hold
 * both to the trace.
 */

import { sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { axisNames, readAxes } from "../record/axes.ts";
import type { Formula, Operand, RunRecord } from "../record/record.ts";
import { Evaluator, type Fetch, Fields, MissingTensor } from "./evaluator.ts";
import { cellAt, compute } from "./interpreter.ts";
import { activationOf } from "./rules/activations.ts";
import { fillOf } from "./rules/masks.ts";

export type Numbers = Pick<RunRecord, "scored_at" | "precision">;

/** Where each cell of the result reads an operand: `at` by its flat place; the offsets along the axes it lacks. */
interface Read {
  readonly data: ArrayLike<number>;
  readonly at: Int32Array;
  along(axis: string): Int32Array;
}

/** One formula with its tensors at hand, and the shape of its result. */
class Loop {
  readonly fields: Fields;
  readonly axes: readonly string[];
  readonly shape: readonly number[];
  readonly size: number;
  readonly precision: RunRecord["precision"];
  readonly #fetch: Fetch;
  readonly #scoredAt: readonly number[] | null;

  constructor(formula: Formula, shape: readonly number[], fetch: Fetch, run: Numbers) {
    this.precision = run.precision;
    this.fields = new Fields(formula.rule);
    this.axes = axisNames(formula.axes);
    this.shape = shape;
    this.size = sizeOf(shape);
    this.#fetch = fetch;
    this.#scoredAt = run.scored_at;
  }

  /** How an operand is read; `rename`: an axis of the operand that is another one's part in the result. */
  read(operand: Operand): Read {
    const tensor = this.#fetch(operand.name);
    if (tensor === undefined) throw new MissingTensor(operand.name);
    const tables = offsets(operand, tensor.shape, this.#scoredAt);
    let at = new Int32Array(1);
    this.axes.forEach((axis, place) => {
      at = spread(at, tables.get(axis), this.shape[place] ?? 1);
    });
    return { data: tensor.data, at, along: (axis) => tables.get(axis) ?? new Int32Array(1) };
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
function offsets(
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

/** Fills a result; `slow` works out one cell by the interpreter. */
type Whole = (loop: Loop, into: Float64Array, slow: (flat: number) => number) => void;

function products(loop: Loop, into: Float64Array): void {
  const { fields } = loop;
  const [left, right, bias] = [loop.operand("left"), loop.operand("right"), loop.maybe("bias")];
  const [over, scale] = [fields.text("over"), fields.number("scale")];
  const count = Math.max(left.along(over).length, right.along(over).length);
  const [ofLeft, ofRight] = [filled(left.along(over), count), filled(right.along(over), count)];
  const [one, two] = [doubles(left.data), doubles(right.data)];
  for (let flat = 0; flat < into.length; flat++) {
    const sum = dot(one, left.at[flat] ?? 0, ofLeft, two, right.at[flat] ?? 0, ofRight);
    into[flat] = sum * scale + (bias === null ? 0 : (bias.data[bias.at[flat] ?? 0] ?? 0));
  }
}

/** A sum of products: of arrays of one kind, for which the browser compiles it well. */
function dot(one: Float64Array, l: number, left: Int32Array, two: Float64Array, r: number, right: Int32Array): number {
  let sum = 0;
  for (let step = 0; step < left.length; step++) {
    sum += (one[l + (left[step] as number)] as number) * (two[r + (right[step] as number)] as number);
  }
  return sum;
}

function doubles(data: ArrayLike<number>): Float64Array {
  return data instanceof Float64Array ? data : new Float64Array(data);
}

/** The offsets along an axis, the only one repeated where all share it. */
function filled(offsets: Int32Array, count: number): Int32Array {
  return offsets.length === count ? offsets : new Int32Array(count).fill(offsets[0] ?? 0);
}

function each(loop: Loop, role: string, into: Float64Array, make: (value: number, flat: number) => number): void {
  const { data, at } = loop.operand(role);
  for (let flat = 0; flat < into.length; flat++) into[flat] = make(data[at[flat] ?? 0] ?? 0, flat);
}

/** What is 0 for a masked word, else the factor. */
function kept(loop: Loop, factor: number): (flat: number) => number {
  const masked = loop.maybe("masked_words");
  return masked === null ? () => factor : (flat) => (masked.data[masked.at[flat] ?? 0] === 0 ? factor : 0);
}

function lookUp(loop: Loop, into: Float64Array): void {
  const { fields } = loop;
  const [index, rows] = [loop.operand("index"), loop.operand("table")];
  const [offset, scale] = [fields.number("offset"), kept(loop, fields.number("scale"))];
  const along = rows.along("row");
  for (let flat = 0; flat < into.length; flat++) {
    const row = along[(index.data[index.at[flat] ?? 0] ?? 0) + offset];
    if (row === undefined) throw new Error(`${fields.operand("table").name} has no such row`);
    into[flat] = (rows.data[row + (rows.at[flat] ?? 0)] ?? 0) * scale(flat);
  }
}

function softmax(loop: Loop, into: Float64Array, logarithm: boolean): void {
  const { data, at } = loop.operand("x");
  const { starts, count, step } = loop.rows(loop.fields.text("over"));
  for (const start of starts) {
    let largest = -Infinity;
    const value = (index: number): number => data[at[start + index * step] ?? 0] ?? 0;
    for (let index = 0; index < count; index++) largest = Math.max(largest, value(index));
    let sum = 0;
    for (let index = 0; index < count; index++) sum += Math.exp(value(index) - largest);
    for (let index = 0; index < count; index++) {
      const flat = start + index * step;
      if (largest === -Infinity) into[flat] = logarithm ? Number.NaN : 0;
      else if (logarithm) into[flat] = value(index) - largest - Math.log(sum);
      else into[flat] = Math.exp(value(index) - largest) / sum;
    }
  }
}

function norm(loop: Loop, into: Float64Array, centred: boolean): void {
  const { data, at } = loop.operand("x");
  const [weight, bias] = [loop.operand("weight"), loop.maybe("bias")];
  const { starts, count, step } = loop.rows(loop.fields.text("over"));
  const epsilon = loop.fields.number("epsilon");
  for (const start of starts) {
    const value = (index: number): number => data[at[start + index * step] ?? 0] ?? 0;
    let [mean, spread] = [0, 0];
    for (let index = 0; centred && index < count; index++) mean += value(index) / count;
    for (let index = 0; index < count; index++) spread += (value(index) - mean) ** 2 / count;
    const deviation = Math.sqrt(spread + epsilon);
    for (let index = 0; index < count; index++) {
      const flat = start + index * step;
      const scaled = ((value(index) - mean) / deviation) * (weight.data[weight.at[flat] ?? 0] ?? 0);
      into[flat] = scaled + (bias === null ? 0 : (bias.data[bias.at[flat] ?? 0] ?? 0));
    }
  }
}

function concatenate(loop: Loop, into: Float64Array): void {
  const operand = loop.fields.operand("x");
  const last = loop.axes.at(-1) ?? "";
  const x = loop.read(operand);
  const [heads, channels] = [x.along(loop.fields.text("over")), x.along(last)];
  const width = loop.shape.at(-1) ?? 1;
  const size = Math.max(1, channels.length);
  for (let flat = 0; flat < into.length; flat++) {
    const place = flat % width;
    const row = x.at[flat - place] ?? 0;
    into[flat] = x.data[row + (heads[Math.floor(place / size)] ?? 0) + (channels[place % size] ?? 0)] ?? 0;
  }
}

function fill(loop: Loop, into: Float64Array, slow: (flat: number) => number, added: boolean): void {
  const looks = loop.operand("may_look");
  const instead = fillOf(loop.fields, "fill", loop);
  const several = loop.fields.has("out_of_reach");
  each(loop, "x", into, (value, flat) => {
    if (looks.data[looks.at[flat] ?? 0] !== 0) return value;
    return several ? slow(flat) : added ? value + instead : instead;
  });
}

/** Channels i and i + half turned together: the cosine and sine of a position and a pair are worked out once. */
function rotated(loop: Loop, into: Float64Array): void {
  const [x, position] = [loop.operand("x"), loop.operand("position")];
  const width = loop.shape.at(-1) ?? 1;
  const half = width / 2;
  const rates = Array.from({ length: half }, (_, pair) => loop.fields.number("base") ** -(pair / half));
  const turns = new Map<number, readonly [cosine: number, sine: number]>();
  for (let flat = 0; flat < into.length; flat++) {
    const channel = flat % width;
    const pair = channel % half;
    const place = position.data[position.at[flat] ?? 0] ?? 0;
    const key = place * half + pair;
    const angle = place * (rates[pair] ?? 0);
    const turn = turns.get(key) ?? ([Math.cos(angle), Math.sin(angle)] as const);
    turns.set(key, turn);
    const [own, partner] = [x.at[flat] ?? 0, x.at[channel < half ? flat + half : flat - half] ?? 0];
    const added = (x.data[partner] ?? 0) * turn[1];
    into[flat] = (x.data[own] ?? 0) * turn[0] + (channel < half ? -added : added);
  }
}

const WHOLE: Readonly<Record<string, Whole>> = {
  dot_product: products,
  weighted_sum: products,
  linear: products,
  activated_linear(loop, into) {
    products(loop, into);
    const activate = activationOf(loop.fields.text("kind"));
    for (let flat = 0; flat < into.length; flat++) into[flat] = activate(into[flat] ?? 0);
  },
  look_up: lookUp,
  scale(loop, into) {
    const by = kept(loop, loop.fields.number("by"));
    each(loop, "x", into, (value, flat) => value * by(flat));
  },
  add(loop, into) {
    const by = kept(loop, 1);
    for (const [, operand] of loop.fields.terms()) {
      const { data, at } = loop.read(operand);
      for (let flat = 0; flat < into.length; flat++) into[flat] = (into[flat] ?? 0) + (data[at[flat] ?? 0] ?? 0);
    }
    for (let flat = 0; flat < into.length; flat++) into[flat] = (into[flat] ?? 0) * by(flat);
  },
  activation: (loop, into) => each(loop, "x", into, activationOf(loop.fields.text("kind"))),
  gate(loop, into) {
    const activate = activationOf(loop.fields.text("kind"));
    const x = loop.operand("x");
    each(loop, "gate", into, (value, flat) => activate(value) * (x.data[x.at[flat] ?? 0] ?? 0));
  },
  softmax: (loop, into) => softmax(loop, into, false),
  log_softmax: (loop, into) => softmax(loop, into, true),
  layer_norm: (loop, into) => norm(loop, into, true),
  rms_norm: (loop, into) => norm(loop, into, false),
  concatenate,
  rotate: rotated,
  fill_set: (loop, into, slow) => fill(loop, into, slow, false),
  fill_add: (loop, into, slow) => fill(loop, into, slow, true),
};

/** A formula's tensor of this shape. */
export function wholeTensor(formula: Formula, shape: readonly number[], fetch: Fetch, run: Numbers): Tensor {
  const data = new Float64Array(sizeOf(shape));
  const evaluator = new Evaluator(formula, (name) => (name === formula.name ? { shape, data } : fetch(name)), run);
  const axes = axisNames(formula.axes);
  const slow = (flat: number): number => compute(evaluator, cellAt(axes, shape, flat)).result;
  const whole = WHOLE[formula.rule.rule];
  if (whole !== undefined) whole(new Loop(formula, shape, fetch, run), data, slow);
  else for (let flat = 0; flat < data.length; flat++) data[flat] = slow(flat);
  return { shape, data };
}

/** How many multiplications and additions a formula takes, about. */
export function workOf(formula: Formula, shape: readonly number[], fetch: Fetch): number {
  const fields = new Fields(formula.rule);
  const left = fields.maybe("left");
  if (left === null) return sizeOf(shape);
  const tensor = fetch(left.name);
  const along = tensor === undefined ? undefined : offsets(left, tensor.shape, null).get(fields.text("over"));
  return sizeOf(shape) * (along?.length ?? 1);
}
