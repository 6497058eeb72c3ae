/** Rules that select, add and multiply: see `look/rules/sums.py`. */

import type { Cell } from "../axes.ts";
import {
  Along,
  type Compute,
  constant,
  type Evaluator,
  type Factor,
  type Fields,
  step,
  type Term,
  total,
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

function products(rule: Fields, tensors: Evaluator, cell: Cell): Term[] {
  const [left, right, bias] = [rule.operand("left"), rule.operand("right"), rule.maybe("bias")];
  const [over, by] = [rule.text("over"), rule.number("scale")];
  const [lefts, rights] = [tensors.along(left, over, cell), tensors.along(right, over, cell)];
  const [one, two, scale] = [lefts.values, rights.values, constant(by)];
  if (two.length < one.length) throw new Error(`${right.name} has no ${over} ${two.length}`);
  const factors = (at: number): Factor[] => [lefts.factor(at), rights.factor(at), ...scale];
  const terms: Term[] = [];
  for (let at = 0; at < one.length; at++)
    terms.push(new Along(over, at, (one[at] ?? NaN) * (two[at] ?? NaN) * by, factors));
  if (bias !== null) {
    const entry = tensors.factor(bias, cell);
    terms.push({ what: "bias", factors: [entry], value: entry.value });
  }
  return terms;
}

const dotProduct: Compute = (rule, tensors, cell) => total(products(rule, tensors, cell));

const activatedLinear: Compute = (rule, tensors, cell) => {
  const { terms, result } = total(products(rule, tensors, cell));
  return { terms, result: activationOf(rule.text("kind"))(result), quantities: { sum: result } };
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
