/** Rules that select, add and multiply: see `look/formulas/rules/sums.py`. */

import { exactSum } from "../../numbers/arithmetic.ts";
import type { Cell } from "../../record/axes.ts";
import {
  Along,
  type Compute,
  constant,
  type Evaluator,
  type Factor,
  type Fields,
  step,
  total,
  type Working,
} from "../evaluator.ts";
import { activationOf } from "./activations.ts";

const lookUp: Compute = (rule, tensors, cell) => {
  const place = tensors.value(rule.operand("index"), cell) + rule.number("offset");
  const entry = tensors.factor(rule.operand("table"), { ...cell, row: place });
  const scale = tensors.isZeroed(rule.maybe("masked_words"), cell) ? 0 : rule.number("scale");
  const value = entry.value * scale;
  const term = { what: `row ${place}`, factors: [entry, ...constant(scale)], value };
  return { terms: [term], result: value, quantities: { row: place } };
};

const add: Compute = (rule, tensors, cell) => {
  const kept = tensors.isZeroed(rule.maybe("masked_words"), cell) ? 0 : 1;
  return total(
    rule.terms().map(([role, operand]) => {
      const entry = tensors.factor(operand, cell);
      return { what: role, factors: [entry, ...constant(kept)], value: entry.value * kept };
    }),
  );
};

const scale: Compute = (rule, tensors, cell) => {
  const entry = tensors.factor(rule.operand("x"), cell);
  const by = tensors.isZeroed(rule.maybe("masked_words"), cell) ? 0 : rule.number("by");
  return total([{ what: "scaled", factors: [entry, ...constant(by)], value: entry.value * by }]);
};

function products(rule: Fields, tensors: Evaluator, cell: Cell): Along {
  const [left, right, bias] = [rule.operand("left"), rule.operand("right"), rule.maybe("bias")];
  const [over, by] = [rule.text("over"), rule.number("scale")];
  const [lefts, rights] = [tensors.along(left, over, cell), tensors.along(right, over, cell)];
  const [one, two, scale] = [lefts.values, rights.values, constant(by)];
  if (two.length < one.length) throw new Error(`${right.name} has no ${over} ${two.length}`);
  const factors = (at: number): Factor[] => [lefts.factor(at), rights.factor(at), ...scale];
  const entry = bias === null ? null : tensors.factor(bias, cell);
  const values = new Float64Array(one.length + (entry === null ? 0 : 1));
  for (let at = 0; at < one.length; at++) values[at] = (one[at] ?? NaN) * (two[at] ?? NaN) * by;
  if (entry === null) return new Along(values, over, factors);
  values[one.length] = entry.value;
  return new Along(values, over, factors, { what: "bias", factors: [entry], value: entry.value });
}

const dotProduct: Compute = (rule, tensors, cell) => {
  const terms = products(rule, tensors, cell);
  return terms.working(exactSum(terms.values));
};

const activatedLinear: Compute = (rule, tensors, cell): Working => {
  const terms = products(rule, tensors, cell);
  const sum = exactSum(terms.values);
  return terms.working(activationOf(rule.text("kind"))(sum), { sum });
};

const concatenate: Compute = (rule, tensors, cell) => {
  const [x, over] = [rule.operand("x"), rule.text("over")];
  const last = tensors.axes.at(-1) ?? "";
  const size = tensors.size(x, last);
  const [head, channel] = [Math.floor(step(cell, last) / size), step(cell, last) % size];
  const entry = tensors.factor(x, { ...cell, [over]: head, [last]: channel });
  return total([{ what: `${over} ${head}`, factors: [entry], value: entry.value }]);
};

export const SUMS: Readonly<Record<string, Compute>> = {
  look_up: lookUp,
  add,
  scale,
  dot_product: dotProduct,
  weighted_sum: dotProduct,
  linear: dotProduct,
  activated_linear: activatedLinear,
  concatenate,
};
