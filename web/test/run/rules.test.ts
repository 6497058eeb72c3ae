/** Rules of the formula table at single cells, against the formulas of the papers written out here. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Evaluator } from "../../src/formulas/evaluator.ts";
import { compute } from "../../src/formulas/interpreter.ts";
import { rulesFor } from "../../src/formulas/rules_for.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Cell } from "../../src/record/axes.ts";
import type { Formula, Rule } from "../../src/record/record.ts";

type Tensors = Readonly<Record<string, Tensor>>;

const tensor = (shape: readonly number[], ...data: number[]): Tensor => ({ shape, data });

/** What a rule makes of one cell of a tensor with these axes. */
function worked(rule: Rule, axes: string, cell: Cell, tensors: Tensors): number {
  const formula = { name: "found", axes, rule, tokens: "inputs", keys: "inputs" } as unknown as Formula;
  const evaluator = new Evaluator(formula, (name) => tensors[name], { scored_at: null, precision: "float64" });
  return compute(evaluator, cell).result;
}

function near(found: number, expected: number, what = ""): void {
  assert.ok(Math.abs(found - expected) <= 1e-14 * (1 + Math.abs(expected)), `${what}: ${found}, not ${expected}`);
}

test("a causal mask lets a token look at itself and at those before it", () => {
  const rule = { rule: "may_look", causal: true };
  for (const query of [0, 1, 2]) {
    const seen = [0, 1, 2].map((key) => worked(rule, "query key", { query, key }, {}));
    assert.deepEqual(
      seen,
      [0, 1, 2].map((key) => Number(key <= query)),
    );
  }
});

test("a window reaches so far to both sides", () => {
  const rule = { rule: "may_look", window: 1 };
  const seen = [0, 1, 2, 3, 4].map((key) => worked(rule, "query key", { query: 2, key }, {}));
  assert.deepEqual(seen, [0, 1, 1, 1, 0]);
});

test("a rotation multiplies the complex number of a pair by exp(i · position · rate)", () => {
  const x = [0.5, -1.25, 2, 0.75]; // the pairs (0.5, 2) and (−1.25, 0.75)
  const tensors = { x: tensor([1, 1, 4], ...x), position: tensor([1, 1], 3) };
  const rule = {
    rule: "rotate",
    x: { name: "x", axes: "sentence token channel" },
    position: { name: "position", axes: "sentence token" },
    over: "channel",
    base: 100,
  };
  const found = [0, 1, 2, 3].map((channel) => {
    return worked(rule, "sentence token channel", { sentence: 0, token: 0, channel }, tensors);
  });
  for (const pair of [0, 1]) {
    const angle = 3 * 100 ** -(pair / 2);
    const [real, imaginary] = [x[pair] ?? NaN, x[pair + 2] ?? NaN];
    near(found[pair] ?? NaN, real * Math.cos(angle) - imaginary * Math.sin(angle), "real");
    near(found[pair + 2] ?? NaN, real * Math.sin(angle) + imaginary * Math.cos(angle), "imaginary");
  }
});

test("a layer norm has mean 0 and variance 1 before its weight and bias", () => {
  const x = [1, 4, -2, 5];
  const mean = 2;
  const deviation = Math.sqrt((1 + 4 + 16 + 9) / 4 + 0.5);
  const operand = (name: string) => ({ name, axes: "channel" });
  const tensors = { x: tensor([4], ...x), weight: tensor([4], 1, 2, 3, 4), bias: tensor([4], 0.1, 0.2, 0.3, 0.4) };
  const both = { over: "channel", epsilon: 0.5, x: operand("x"), weight: operand("weight") };
  const squares = Math.sqrt((1 + 16 + 4 + 25) / 4 + 0.5);
  for (const [channel, value] of x.entries()) {
    const layer = { rule: "layer_norm", ...both, bias: operand("bias") };
    const shifted = ((value - mean) / deviation) * (channel + 1) + (channel + 1) / 10;
    near(worked(layer, "channel", { channel }, tensors), shifted, "layer");
    near(
      worked({ rule: "rms_norm", ...both }, "channel", { channel }, tensors),
      (value / squares) * (channel + 1),
      "rms",
    );
  }
});

test("activation functions are their formulas", () => {
  const root = Math.sqrt(2 / Math.PI);
  const formulas: Readonly<Record<string, (x: number) => number>> = {
    relu: (x) => Math.max(x, 0),
    gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(root * (x + 0.044715 * x ** 3))),
    silu: (x) => x / (1 + Math.exp(-x)),
    quick_gelu: (x) => x / (1 + Math.exp(-1.702 * x)),
    mish: (x) => x * Math.tanh(Math.log(1 + Math.exp(x))),
    log_sigmoid: (x) => -Math.log(1 + Math.exp(-x)),
  };
  for (const [kind, expected] of Object.entries(formulas)) {
    for (const x of [-2.5, -0.25, 0, 0.75, 3]) {
      const rule = { rule: "activation", kind, x: { name: "x", axes: "channel" } };
      near(worked(rule, "channel", { channel: 0 }, { x: tensor([1], x) }), expected(x), `${kind}(${x})`);
    }
  }
});

test("a gate is multiplied with what it lets through", () => {
  const operand = (name: string) => ({ name, axes: "channel" });
  const rule = { rule: "gate", kind: "relu", gate: operand("gate"), x: operand("x") };
  const tensors = { gate: tensor([2], 3, -1), x: tensor([2], -0.5, 7) };
  assert.equal(worked(rule, "channel", { channel: 0 }, tensors), -1.5);
  assert.equal(Math.abs(worked(rule, "channel", { channel: 1 }, tensors)), 0);
});

test("the forward algorithm sums all sequences of labels", async () => {
  const [first, steps, logits] = [
    [0.5, -1],
    [0.25, 1, -0.5, 2],
    [1, 2, -1, 0.5],
  ];
  const table = [(first[0] ?? 0) + (logits[0] ?? 0), (first[1] ?? 0) + (logits[1] ?? 0), 0, 0];
  const axes = "sentence token label";
  const rule = {
    rule: "chain_sum",
    x: { name: "x", axes },
    before: { name: "table", axes: "sentence token before" },
    steps: { name: "steps", axes: "before label" },
    first: { name: "first", axes: "label" },
    labelled: { name: "labelled", axes: "sentence token" },
  };
  const tensors = {
    x: tensor([1, 2, 2], ...logits),
    table: tensor([1, 2, 2], ...table),
    steps: tensor([2, 2], ...steps),
    first: tensor([2], ...first),
    labelled: tensor([1, 2], 1, 1),
  };
  await rulesFor([{ rule } as unknown as Formula]);
  for (const label of [0, 1]) {
    near(worked(rule, axes, { sentence: 0, token: 0, label }, tensors), table[label] ?? NaN, "first");
    const scores = [0, 1].map((before) => {
      const score = (first[before] ?? 0) + (logits[before] ?? 0) + (steps[2 * before + label] ?? 0);
      return Math.exp(score + (logits[2 + label] ?? 0));
    });
    near(
      worked(rule, axes, { sentence: 0, token: 1, label }, tensors),
      Math.log((scores[0] ?? 0) + (scores[1] ?? 0)),
      "second",
    );
  }
});
