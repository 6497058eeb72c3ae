/**
 * Whole tensors by their formulas, in loops over flat places: what a page needs to follow a change while a person types.
 *
 * An operand's place is a sum of one offset for each named axis of the result, so each axis has a table of offsets and
 * no cell needs an object. Rules that are not listed here are worked out cell by cell by the interpreter; the tests hold
 * both to the trace.
 */

import { range } from "../numbers/arithmetic.ts";
import { sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { axisNames } from "../record/axes.ts";
import type { Formula } from "../record/record.ts";
import { Evaluator, type Fetch, Fields } from "./evaluator.ts";
import { cellAt, compute } from "./interpreter.ts";
import { Loop, type Numbers, offsets } from "./loop.ts";
import { activationOf } from "./rules/activations.ts";
import { fillOf } from "./rules/masks.ts";

/** Fills a result; `slow` works out one cell by the interpreter. */
type Whole = (loop: Loop, into: Float64Array, slow: (flat: number) => number) => void;

/** What a sum of products reads: both sides with the steps along the axis that is summed over, the bias, the scale. */
export function productsOf(loop: Loop) {
  const { fields } = loop;
  const [left, right, bias] = [loop.operand("left"), loop.operand("right"), loop.maybe("bias")];
  const [over, scale] = [fields.text("over"), fields.number("scale")];
  const count = Math.max(left.along(over).length, right.along(over).length);
  return {
    left,
    right,
    bias,
    scale,
    ofLeft: filled(left.along(over), count),
    ofRight: filled(right.along(over), count),
  };
}

function products(loop: Loop, into: Float64Array): void {
  const { left, right, bias, scale, ofLeft, ofRight } = productsOf(loop);
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
export function kept(loop: Loop, factor: number): (flat: number) => number {
  const masked = loop.maybe("masked_words");
  return masked === null ? () => factor : (flat) => (masked.data[masked.at[flat] ?? 0] === 0 ? factor : 0);
}

/** Where the table is read for each cell. */
export function lookedUp(loop: Loop): (flat: number) => number {
  const [index, rows] = [loop.operand("index"), loop.operand("table")];
  const [offset, along] = [loop.fields.number("offset"), rows.along("row")];
  return (flat) => {
    const row = along[(index.data[index.at[flat] ?? 0] ?? 0) + offset];
    if (row === undefined) throw new Error(`${rows.name} has no such row`);
    return row + (rows.at[flat] ?? 0);
  };
}

function lookUp(loop: Loop, into: Float64Array): void {
  const [{ data }, at, scale] = [loop.operand("table"), lookedUp(loop), kept(loop, loop.fields.number("scale"))];
  for (let flat = 0; flat < into.length; flat++) into[flat] = (data[at(flat)] ?? 0) * scale(flat);
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

/** Where each cell finds the number that it takes over. */
export function joinedFrom(loop: Loop): (flat: number) => number {
  const x = loop.operand("x");
  const [heads, channels] = [x.along(loop.fields.text("over")), x.along(loop.axes.at(-1) ?? "")];
  const width = loop.shape.at(-1) ?? 1;
  const size = Math.max(1, channels.length);
  return (flat) => {
    const place = flat % width;
    const row = x.at[flat - place] ?? 0;
    return row + (heads[Math.floor(place / size)] ?? 0) + (channels[place % size] ?? 0);
  };
}

function concatenate(loop: Loop, into: Float64Array): void {
  const [{ data }, at] = [loop.operand("x"), joinedFrom(loop)];
  for (let flat = 0; flat < into.length; flat++) into[flat] = data[at(flat)] ?? 0;
}

function fill(loop: Loop, into: Float64Array, slow: (flat: number) => number, added: boolean): void {
  const looks = loop.operand("may_look");
  const instead = fillOf(loop.fields, "fill", loop);
  const several = loop.fields.has("out_of_reach");
  each(loop, "x", into, (value, flat) => {
    if (looks.data[looks.at[flat] ?? 0] !== 0) return value;
    if (!several) return added ? value + instead : instead;
    // What is set in the place of a score does not depend on it.
    const set = loop.settled.get(flat) ?? slow(flat);
    if (!added) loop.settled.set(flat, set);
    return set;
  });
}

/** Channels i and i + half turned together: the cosine and sine of a position and a pair are worked out once. */
function rotated(loop: Loop, into: Float64Array): void {
  const [x, position] = [loop.operand("x"), loop.operand("position")];
  const width = loop.shape.at(-1) ?? 1;
  const half = width / 2;
  const rates = range(half, (pair) => loop.fields.number("base") ** -(pair / half));
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
  const { data, fill } = prepared(formula, shape, fetch, run);
  fill();
  return { shape, data };
}

/** The same to be filled, again and again where the numbers of its operands change in their place. */
export function prepared(
  formula: Formula,
  shape: readonly number[],
  fetch: Fetch,
  run: Numbers,
): { readonly loop: Loop; readonly data: Float64Array; fill(): void } {
  const data = new Float64Array(sizeOf(shape));
  const evaluator = new Evaluator(formula, (name) => (name === formula.name ? { shape, data } : fetch(name)), run);
  const axes = axisNames(formula.axes);
  const slow = (flat: number): number => compute(evaluator, cellAt(axes, shape, flat)).result;
  const whole = WHOLE[formula.rule.rule];
  const loop = new Loop(formula, shape, fetch, run);
  const fill = (): void => {
    data.fill(0);
    if (whole !== undefined) whole(loop, data, slow);
    else for (let flat = 0; flat < data.length; flat++) data[flat] = slow(flat);
  };
  return { loop, data, fill };
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
