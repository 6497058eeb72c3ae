/** Vectors of words and texts: what a number of them is made of. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Names } from "../../src/formulas/names.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, RunRecord } from "../../src/record/record.ts";
import { addendsOf, numbersOf, pooled, summed, sumText } from "../../src/scenes/vectors/vectors.ts";
import { Scout } from "../../src/scout/scout.ts";

const LAYERS = ["encoder.embed.sum", "encoder.blocks.0.feed_forward.residual"];

/** Two layers of three tokens, of which the last is padding, and two channels. */
function scout(): Scout {
  const formula = (name: string, axes: string): Formula => {
    const words = { title: "", extra: false, words: "", mathml: "" };
    return { name, axes, rule: { rule: "linear" }, tokens: "inputs", keys: "inputs", unit: "", ...words };
  };
  const attention = "encoder.blocks.0.self_attention.weights";
  const run: RunRecord = {
    ...{ format: 1, title: "", precision: "float64", error_limit: 1e-12 },
    model: { family: "bert", parameters: 0, stacks: [] },
    words: {
      inputs: [["a", "b", "[PAD]"]],
      decoder_inputs: [],
      vocabulary: [],
      labels: [],
      candidates: [],
      answers: [],
    },
    ...{ scored_at: null, places: [] },
    formulas: [
      ...LAYERS.map((name) => formula(name, "sentence token channel")),
      formula(attention, "sentence head query key"),
    ],
    facts: { "inputs.real": { axes: ["sentence", "token"], side: "inputs" } },
    ...{ weights: {}, shared: {}, changes: "", honesty: null, left_out: {}, limit: 0 },
    vectors: { layers: LAYERS, word: null, strategies: {} },
  };
  const tensors = new Map<string, Tensor>([
    [LAYERS[0] ?? "", { shape: [1, 3, 2], data: [1, -2, 3, 4, 90, 90] }],
    [LAYERS[1] ?? "", { shape: [1, 3, 2], data: [0.5, 6, -1, 2, 90, 90] }],
    [attention, { shape: [1, 1, 3, 3], data: [1, 0, 0, 1, 0, 0, 1, 0, 0] }],
    ["inputs.real", { shape: [1, 3], data: [1, 1, 0] }],
  ]);
  return new Scout(new Names(run), (name) => tensors.get(name), 0);
}

const BOTH = [
  [0, 1],
  [1, 1],
] as const;

test("layers are added up, or stand side by side", () => {
  const s = scout();
  const sum = { layers: BOTH, concat: false };
  assert.equal(numbersOf(s, sum), 2);
  assert.equal(summed(addendsOf(s, sum, 1, [0])), 4);
  assert.equal(sumText(addendsOf(s, sum, 1, [0]), 8), "−2 + 6 = 4");
  const beside = { layers: BOTH, concat: true };
  assert.equal(numbersOf(s, beside), 4);
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => summed(addendsOf(s, beside, index, [1]))),
    [3, 4, -1, 2],
  );
});

test("of a text the first vector, the last, the mean or the largest number; padding is none of it", () => {
  const s = scout();
  const of = (pooling: "first" | "last-token" | "mean" | "max"): number[] => {
    const feature = { layers: BOTH, concat: false, strategy: "sum-all", pooling };
    return [0, 1].map((index) => summed(pooled(s, feature, index)));
  };
  assert.deepEqual(of("first"), [1.5, 4]);
  assert.deepEqual(of("last-token"), [2, 6]);
  assert.deepEqual(of("mean"), [1.75, 5]);
  assert.deepEqual(of("max"), [2, 6]);
});
