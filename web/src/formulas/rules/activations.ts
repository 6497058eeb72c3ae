/** Rules of one number: see `look/formulas/rules/activations.py`. */

import { erfc } from "../../numbers/arithmetic.ts";
import type { Compute } from "../evaluator.ts";

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
  const part = Math.floor(channel / width);
  const here = { ...cell, channel: channel % width };
  const first = tensors.factor(rule.operand("first"), here);
  const second = tensors.factor(rule.operand("second"), here);
  if (part === 3) {
    const value = first.value * second.value;
    return { terms: [{ what: "product", factors: [first, second], value }], result: value, quantities: {} };
  }
  const own = part === 0 ? first : second;
  const taken = { what: part === 0 ? "first text" : "second text", factors: [own], value: own.value };
  if (part < 2) return { terms: [taken], result: own.value, quantities: {} };
  const [less, more] = first.value < second.value ? [first, second] : [second, first];
  const minus = { name: null, index: [], value: -1 };
  const terms = [
    { what: "larger", factors: [more], value: more.value },
    { what: "smaller", factors: [minus, less], value: -less.value },
  ];
  return { terms, result: more.value - less.value, quantities: {} };
};

export const OF_ONE: Readonly<Record<string, Compute>> = { activation, gate, compared };
