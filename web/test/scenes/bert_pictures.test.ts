/** The pictures of BERT: weights counted by rule, and who reads what. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Names } from "../../src/formulas/names.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, RunRecord } from "../../src/record/record.ts";
import { labelled, missing, secondFrom, tokensOf, wayOf } from "../../src/scenes/board/reading.ts";
import { printedShares } from "../../src/scenes/board/shares.ts";
import { sum, weightsOf } from "../../src/scenes/vectors/sizes.ts";
import { Scout } from "../../src/scout/scout.ts";

const BASE = { name: "", layers: 12, width: 768, heads: 12, feed_forward: 3072, vocabulary: 30522, positions: 512 };

test("the weights of BERT-Base and BERT-Large, with their pooler", () => {
  assert.equal(sum(weightsOf({ ...BASE, segments: 2 })), 109_482_240);
  const large = { ...BASE, layers: 24, width: 1024, heads: 16, feed_forward: 4096 };
  assert.equal(sum(weightsOf({ ...large, segments: 2 })), 335_141_888);
});

test("with a feed-forward network as narrow as the stream Base would have 67.0 million (C-7)", () => {
  assert.equal((sum(weightsOf({ ...BASE, segments: 2, feed_forward: 768 })) / 1e6).toFixed(1), "67.0");
});

function scout(words: readonly string[], formulas: readonly string[], facts: Record<string, number[]> = {}): Scout {
  const axes = ["sentence", "token"];
  const run: RunRecord = {
    ...{ format: 1, title: "", precision: "float64", error_limit: 1e-12 },
    model: { family: "bert", parameters: 0, stacks: [] },
    words: { inputs: [words], decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
    ...{ scored_at: null, places: [] },
    formulas: formulas.map((name): Formula => {
      const rule = { rule: "linear" };
      return {
        name,
        axes: "",
        rule,
        tokens: "inputs",
        keys: "inputs",
        unit: "",
        title: "",
        extra: false,
        words: "",
        mathml: "",
      };
    }),
    facts: Object.fromEntries(Object.keys(facts).map((name) => [name, { axes, side: "inputs" }])),
    ...{ weights: {}, shared: {}, changes: "", honesty: null, left_out: {}, limit: 0 },
  };
  const tensors = new Map(
    Object.entries(facts).map(([name, data]): [string, Tensor] => [name, { shape: [1, data.length], data }]),
  );
  return new Scout(new Names(run), (name) => tensors.get(name), 0);
}

const ONE = ["[CLS]", "a", "##b", "[MASK]", "[SEP]"];
const TWO = ["[CLS]", "a", "[SEP]", "c", "d", "[SEP]", "[PAD]"];

test("which of the four ways a run is", () => {
  assert.equal(wayOf(scout(ONE, [])), null);
  assert.equal(wayOf(scout(ONE, ["sentence_head.logits"])), "one");
  assert.equal(wayOf(scout(TWO, ["sentence_head.logits"])), "pair");
  assert.equal(wayOf(scout(TWO, ["token_head.logits", "token_head.masked"])), "answer");
  assert.equal(wayOf(scout(ONE, ["token_head.logits"])), "tags");
});

test("the second text begins where its segment does, else after the first mark", () => {
  assert.equal(secondFrom(scout(ONE, [])), null);
  assert.equal(secondFrom(scout(TWO, [])), 3);
  assert.equal(secondFrom(scout(TWO, [], { "inputs.segments": [0, 0, 0, 0, 1, 1, 0] })), 4);
});

test("padding is no token of the text, and what is missing is told by its mark", () => {
  assert.deepEqual(tokensOf(scout(TWO, [], { "inputs.real": [1, 1, 1, 1, 1, 1, 0] })), [0, 1, 2, 3, 4, 5]);
  assert.deepEqual(missing(scout(ONE, [])), [3]);
});

test("a tagger reads the first token of each word, of a hidden one too", () => {
  assert.deepEqual(labelled(scout(ONE, []), [0, 1, 2, 3, 4]), [1, 3]);
  assert.deepEqual(labelled(scout(ONE, [], { "inputs.labelled": [0, 1, 0, 1, 0] }), [0, 1, 2, 3, 4]), [1, 3]);
});

test("what a document prints stands with the largest share first", () => {
  const shares = { no: 0.01, yes: 0.99 };
  const printed = printedShares({ text: "", shares, source: "", picture: "", lacks: "", make: [] });
  assert.deepEqual(
    printed.map(({ label }) => label),
    ["yes", "no"],
  );
});
