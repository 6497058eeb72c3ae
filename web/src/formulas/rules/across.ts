/** Rules over a whole axis: see `look/formulas/rules/softmax_and_norms.py`. */

import { exactSum } from "../../numbers/arithmetic.ts";
import type { Cell } from "../../record/axes.ts";
import {
  Along,
  type Compute,
  constant,
  type Evaluator,
  type Factor,
  type Fields,
  plain,
  step,
  type Term,
  total,
  type Working,
} from "../evaluator.ts";

function exponentials(rule: Fields, tensors: Evaluator, cell: Cell): Working {
  const [x, over] = [rule.operand("x"), rule.text("over")];
  const { values, factor } = tensors.along(x, over, cell);
  const factors = (at: number): Factor[] => [factor(at)];
  let largest = -Infinity;
  for (let at = 0; at < values.length; at++) largest = Math.max(largest, values[at] ?? NaN);
  if (largest === -Infinity) {
    const terms = Array.from(values, (_, at) => ({ what: "nothing", factors: factors(at), value: 0 }));
    return { terms, result: 0, quantities: {} };
  }
  const powers = new Float64Array(values.length);
  for (let at = 0; at < powers.length; at++) powers[at] = Math.exp((values[at] ?? NaN) - largest);
  const sum = exactSum(powers);
  const place = step(cell, over);
  const [own, score] = [powers[place] ?? 0, values[place] ?? 0];
  return new Along(powers, over, factors).working(own / sum, { score, largest, own, sum });
}

const logSoftmax: Compute = (rule, tensors, cell) => {
  const shares = exponentials(rule, tensors, cell);
  const { long, quantities } = shares;
  const { score = NaN, largest = NaN, sum = NaN } = quantities;
  const result = score - largest - Math.log(sum);
  return long === undefined ? { ...shares, result } : long.working(result, quantities);
};

const largestOf: Compute = (rule, tensors, cell) => {
  const [x, real, over] = [rule.operand("x"), rule.maybe("real"), rule.text("over")];
  const terms: Term[] = [];
  let result = -Infinity;
  const counts = real === null ? null : tensors.along(real, over, cell).values;
  const { values, factor } = tensors.along(x, over, cell);
  for (let place = 0; place < values.length; place++) {
    if (counts?.[place] === 0) continue;
    const value = values[place] ?? NaN;
    terms.push({ what: `${over} ${place}`, factors: [factor(place)], value });
    result = Math.max(result, value);
  }
  return { terms, result, quantities: {} };
};

function norm(rule: Fields, tensors: Evaluator, cell: Cell, centred: boolean): Working {
  const [x, over, bias] = [rule.operand("x"), rule.text("over"), rule.maybe("bias")];
  const { values } = tensors.along(x, over, cell);
  const mean = centred ? exactSum(values) / values.length : 0;
  const spread = exactSum(Float64Array.from(values, (value) => (value - mean) ** 2)) / values.length;
  const deviation = Math.sqrt(spread + rule.number("epsilon"));
  const [own, weight] = [tensors.factor(x, cell), tensors.factor(rule.operand("weight"), cell)];
  const per = constant(1 / deviation);
  const terms: Term[] = [
    { what: "x / deviation", factors: [own, weight, ...per], value: (own.value * weight.value) / deviation },
  ];
  if (centred) {
    const value = (-mean * weight.value) / deviation;
    terms.push({ what: "− mean / deviation", factors: [plain(-mean), weight, ...per], value });
  }
  if (bias !== null) {
    const entry = tensors.factor(bias, cell);
    terms.push({ what: "bias", factors: [entry], value: entry.value });
  }
  const quantities: Record<string, number> = centred ? { deviation, mean } : { deviation };
  return { terms, result: total(terms).result, quantities };
}

const crossEntropy: Compute = (rule, tensors, cell) => {
  const [x, labels, over] = [rule.operand("x"), rule.operand("labels"), rule.text("over")];
  const count = tensors.size(labels, over);
  const terms: Term[] = [];
  for (const [place, here] of tensors.steps(labels, over, cell)) {
    const entry = tensors.factor(x, { ...here, vocabulary: tensors.value(labels, here) });
    terms.push({ what: `${over} ${place}`, factors: [entry, plain(-1 / count)], value: -entry.value / count });
  }
  return total(terms);
};

export const ACROSS: Readonly<Record<string, Compute>> = {
  softmax: exponentials,
  log_softmax: logSoftmax,
  largest: largestOf,
  layer_norm: (rule, tensors, cell) => norm(rule, tensors, cell, true),
  rms_norm: (rule, tensors, cell) => norm(rule, tensors, cell, false),
  cross_entropy: crossEntropy,
};
