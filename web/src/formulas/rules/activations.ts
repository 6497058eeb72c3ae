/** Rules of one number: see `look/formulas/rules/activations.py`. */

import { erfc } from "../../numbers/arithmetic.ts";
import type { Compute, Factor } from "../evaluator.ts";

type Activation = (x: number) => number;

const gelu: Activation = (x) => x * 0.5 * erfc(-x / Math.SQRT2);
const sigmoid: Activation = (x) => 1 / (1 + Math.exp(-x));

const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  relu: (x) => Math.max(x, 0),
  gelu,
  gelu_tanh: (x) => x / (1 + Math.exp(-2 * Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x))),
  silu: (x) => x * sigmoid(x),
  tanh: Math.tanh,
  relu2: (x) => Math.max(x, 0) ** 2,
  quick_gelu: (x) => x * sigmoid(1.702 * x),
  gelu_10: (x) => Math.min(gelu(x), 10),
  mish: (x) => x * Math.tanh(Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0)),
  sigmoid,
  log_sigmoid: (x) => Math.min(x, 0) - Math.log1p(Math.exp(-Math.abs(x))),
};

/** The activation function of that name. */
export function activationOf(kind: string): Activation {
  const found = ACTIVATIONS[kind];
  if (found === undefined) throw new Error(`this page knows no activation function ${kind}`);
  return found;
}

const activation: Compute = (rule, tensors, cell) => {
  const entry = tensors.factor(rule.operand("x"), cell);
  const term = { what: "before", factors: [entry], value: entry.value };
  return { terms: [term], result: activationOf(rule.text("kind"))(entry.value), quantities: {} };
};

const gate: Compute = (rule, tensors, cell) => {
  const [inner, x] = [tensors.factor(rule.operand("gate"), cell), tensors.factor(rule.operand("x"), cell)];
  const activated = activationOf(rule.text("kind"))(inner.value);
  const value = activated * x.value;
  return {
    terms: [{ what: "gate · x", factors: [inner, x], value }],
    result: value,
    quantities: { "activated gate": activated },
  };
};

/** Two vectors, their absolute difference and their product, one after the other. */
const compared: Compute = (rule, tensors, cell) => {
  const width = tensors.size(rule.operand("first"), "channel");
  const channel = cell["channel"] ?? 0;
  const read = (side: string): Factor => tensors.factor(rule.operand(side), { ...cell, channel: channel % width });
  const [u, v] = [read("first"), read("second")];
  const [less, more] = u.value < v.value ? [u, v] : [v, u];
  const term = (what: string, ...factors: Factor[]) => ({
    what,
    factors,
    value: factors.reduce((x, y) => x * y.value, 1),
  });
  const parts = [
    [term("first text", u)],
    [term("second text", v)],
    [term("larger", more), term("smaller", { name: null, index: [], value: -1 }, less)],
    [term("product", u, v)],
  ];
  const terms = parts[Math.floor(channel / width)] ?? [];
  return { terms, result: terms.reduce((sum, { value }) => sum + value, 0), quantities: {} };
};

export const OF_ONE: Readonly<Record<string, Compute>> = { activation, gate, compared };
