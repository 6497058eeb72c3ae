/**
 * How far each result of a formula moves with the numbers that it reads: the rules of the table once more, backwards.
 *
 * A derivative gives a sink every pair of a result and a number that it read. The same code serves the training, which
 * adds up all of them, and the page, which shows those of one number: what is shown is what was added.
 */

import { say } from "../words/say.ts";
import type { Loop, Read } from "./loop.ts";
import { joinedFrom, kept, lookedUp, productsOf } from "./whole.ts";

export interface Sink {
  /**
   * The result at the flat place `flat` moves by `partial` times as much as the number at `at`; `other`: the place of the
   * number that `partial` is made of, −1 where it is made of none.
   */
  add(at: number, flat: number, partial: number, other: number): void;
}

/** The sink of an operand; `other`: the operand that its partials are made of. Null: nothing is asked about it. */
export type Sinks = (read: Read, other: Read | null) => Sink | null;

/** `made` has the results, `upstream` how far the loss moves with each: where that is 0, nothing is passed on. */
export type Derivative = (loop: Loop, made: Float64Array, upstream: Float64Array, sinks: Sinks) => void;

const products: Derivative = (loop, made, upstream, sinks) => {
  const { left, right, bias, scale, ofLeft, ofRight } = productsOf(loop);
  const [one, two] = [sinks(left, right), sinks(right, left)];
  const [lefts, rights] = [left.data, right.data];
  for (let flat = 0; flat < made.length; flat++) {
    if (upstream[flat] === 0) continue;
    const l = left.at[flat] as number;
    const r = right.at[flat] as number;
    for (let step = 0; step < ofLeft.length; step++) {
      const i = l + (ofLeft[step] as number);
      const j = r + (ofRight[step] as number);
      if (one !== null) one.add(i, flat, (rights[j] as number) * scale, j);
      if (two !== null) two.add(j, flat, (lefts[i] as number) * scale, i);
    }
  }
  if (bias !== null) passed(made, upstream, sinks(bias, null), (flat) => bias.at[flat] ?? 0);
};

/** A result that is a number taken over, times a factor. */
function passed(
  made: Float64Array,
  upstream: Float64Array,
  sink: Sink | null,
  at: (flat: number) => number,
  factor: (flat: number) => number = () => 1,
): void {
  if (sink === null) return;
  for (let flat = 0; flat < made.length; flat++) {
    const by = upstream[flat] === 0 ? 0 : factor(flat);
    if (by !== 0) sink.add(at(flat), flat, by, -1);
  }
}

const ofX = (loop: Loop, sinks: Sinks): [Read, Sink | null] => {
  const x = loop.operand("x");
  return [x, sinks(x, null)];
};

const softmax =
  (logarithm: boolean): Derivative =>
  (loop, made, upstream, sinks) => {
    const [{ at }, sink] = ofX(loop, sinks);
    if (sink === null) return;
    const { starts, count, step } = loop.rows(loop.fields.text("over"));
    for (const start of starts) {
      for (let result = 0; result < count; result++) {
        const flat = start + result * step;
        if (upstream[flat] === 0) continue;
        const own = made[flat] as number;
        for (let read = 0; read < count; read++) {
          const share = made[start + read * step] as number;
          const same = read === result ? 1 : 0;
          const partial = logarithm ? same - Math.exp(share) : own * (same - share);
          sink.add(at[start + read * step] as number, flat, partial, -1);
        }
      }
    }
  };

/** Each number of a row moves the mean and the variance, and with them every result of the row. */
const normed =
  (centred: boolean): Derivative =>
  (loop, made, upstream, sinks) => {
    const [x, weight, bias] = [loop.operand("x"), loop.operand("weight"), loop.maybe("bias")];
    const [ofX, ofWeight] = [sinks(x, null), sinks(weight, null)];
    const { starts, count, step } = loop.rows(loop.fields.text("over"));
    const epsilon = loop.fields.number("epsilon");
    const even = new Float64Array(count);
    for (const start of starts) {
      const number = (index: number): number => x.data[x.at[start + index * step] as number] as number;
      let [mean, spread] = [0, 0];
      for (let index = 0; centred && index < count; index++) mean += number(index) / count;
      for (let index = 0; index < count; index++) spread += (number(index) - mean) ** 2 / count;
      const deviation = Math.sqrt(spread + epsilon);
      for (let index = 0; index < count; index++) even[index] = (number(index) - mean) / deviation;
      for (let result = 0; result < count; result++) {
        const flat = start + result * step;
        if (upstream[flat] === 0) continue;
        const own = even[result] as number;
        const at = weight.at[flat] as number;
        if (ofWeight !== null) ofWeight.add(at, flat, own, -1);
        if (ofX === null) continue;
        const scale = (weight.data[at] as number) / deviation;
        for (let read = 0; read < count; read++) {
          const less = ((centred ? 1 : 0) + own * (even[read] as number)) / count;
          ofX.add(x.at[start + read * step] as number, flat, scale * ((read === result ? 1 : 0) - less), -1);
        }
      }
    }
    if (bias !== null) passed(made, upstream, sinks(bias, null), (flat) => bias.at[flat] ?? 0);
  };

const filled: Derivative = (loop, made, upstream, sinks) => {
  const [{ at }, sink] = ofX(loop, sinks);
  const looks = loop.operand("may_look");
  const added = loop.fields.text("rule") === "fill_add";
  passed(
    made,
    upstream,
    sink,
    (flat) => at[flat] ?? 0,
    (flat) => Number(looks.data[looks.at[flat] ?? 0] !== 0 || (added && Number.isFinite(made[flat]))),
  );
};

/** The slope of an activation function; at the kink of relu it is 0, as torch has it. */
const SLOPES: Readonly<Record<string, (x: number) => number>> = {
  relu: (x) => (x > 0 ? 1 : 0),
  relu2: (x) => 2 * Math.max(x, 0),
  tanh: (x) => 1 - Math.tanh(x) ** 2,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)) / (1 + Math.exp(x)),
};

const activation: Derivative = (loop, made, upstream, sinks) => {
  const [x, sink] = ofX(loop, sinks);
  const kind = loop.fields.text("kind");
  const slope = SLOPES[kind];
  if (slope === undefined) throw new Error(say`this page knows no slope of the activation function ${kind}`);
  const at = (flat: number): number => x.at[flat] ?? 0;
  passed(made, upstream, sink, at, (flat) => slope(x.data[at(flat)] ?? 0));
};

const crossEntropy: Derivative = (loop, _made, upstream, sinks) => {
  const [x, sink] = ofX(loop, sinks);
  const over = loop.fields.text("over");
  const labels = loop.operand("labels");
  const [places, rows, words] = [labels.along(over), x.along(over), x.along("vocabulary")];
  const count = labels.data.length;
  if (sink === null || upstream[0] === 0) return;
  for (let place = 0; place < count; place++) {
    const word = labels.data[places[place] ?? 0] ?? 0;
    sink.add((rows[place] ?? 0) + (words[word] ?? 0), 0, -1 / count, -1);
  }
};

export const DERIVATIVES: Readonly<Record<string, Derivative>> = {
  dot_product: products,
  weighted_sum: products,
  linear: products,
  look_up(loop, made, upstream, sinks) {
    const sink = sinks(loop.operand("table"), null);
    passed(made, upstream, sink, lookedUp(loop), kept(loop, loop.fields.number("scale")));
  },
  add(loop, made, upstream, sinks) {
    const by = kept(loop, 1);
    for (const [, operand] of loop.fields.terms()) {
      const read = loop.read(operand);
      passed(made, upstream, sinks(read, null), (flat) => read.at[flat] ?? 0, by);
    }
  },
  scale(loop, made, upstream, sinks) {
    const [{ at }, sink] = ofX(loop, sinks);
    passed(made, upstream, sink, (flat) => at[flat] ?? 0, kept(loop, loop.fields.number("by")));
  },
  activation,
  softmax: softmax(false),
  log_softmax: softmax(true),
  layer_norm: normed(true),
  rms_norm: normed(false),
  concatenate: (loop, made, upstream, sinks) => passed(made, upstream, ofX(loop, sinks)[1], joinedFrom(loop)),
  fill_set: filled,
  fill_add: filled,
  cross_entropy: crossEntropy,
};

/** Where a partial comes from that is no other number of the run, in a few words. */
export const PARTIALS: Readonly<Record<string, string>> = {
  add: say`a part of a sum`,
  look_up: say`the row is taken over`,
  scale: say`the factor`,
  activation: say`the slope of the activation function`,
  softmax: say`how this share moves with the score`,
  log_softmax: say`how this log probability moves with the logit`,
  layer_norm: say`how this normed number moves`,
  rms_norm: say`how this normed number moves`,
  concatenate: say`taken over`,
  fill_set: say`the score is kept`,
  fill_add: say`the score is kept`,
  cross_entropy: say`− 1 ÷ the number of places`,
  linear: say`the bias is added`,
};
