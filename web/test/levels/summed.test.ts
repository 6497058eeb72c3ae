/** What sums a run up: rollout, the words that heads tie, words instead of tokens, and how alike two orders are. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../../src/address/state.ts";
import { Names } from "../../src/formulas/names.ts";
import { alikeness } from "../../src/levels/gradients/ranks.ts";
import type { Unit } from "../../src/levels/head/units.ts";
import { askedIn, largestTie, othersIn, tiesOf } from "../../src/levels/ties/ties.ts";
import { grouped } from "../../src/measures/groups.ts";
import type { Formula, RunRecord } from "../../src/record/record.ts";
import { cosineOf, looksOf } from "../../src/run/looks.ts";
import { rolledOut, waysOf } from "../../src/run/rollout.ts";
import { numbersIn, type Source } from "../../src/sources/source.ts";

function unit(text: string, ...tokens: number[]): Unit {
  return { tokens, text, hidden: false, mark: false };
}

/** Two blocks of two heads over two tokens; the second block has no residual connection. */
const WEIGHTS: Readonly<Record<string, readonly number[]>> = {
  "encoder.blocks.0.self_attention.weights": [1, 0, 0, 1, 0, 1, 0.5, 0.5],
  "encoder.blocks.1.self_attention.weights": [0.5, 0.5, 1, 0, 0.5, 0.5, 0, 1],
};
const NAMES = new Names({
  words: { inputs: [["a", "b"]], decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
  formulas: [...Object.keys(WEIGHTS), "encoder.blocks.0.self_attention.residual"].map((name) => {
    return { name, axes: "sentence head query key", rule: { rule: "softmax", over: "key" } } as unknown as Formula;
  }),
} as unknown as RunRecord);
const tensorOf = (name: string) => ({ shape: [1, 2, 2, 2], data: WEIGHTS[name] ?? [] });
const SOURCE = {
  shape: (name: string) => (name in WEIGHTS ? [1, 2, 2, 2] : undefined),
  tensor: async (name: string) => (name in WEIGHTS ? tensorOf(name) : undefined),
  numbersAt: async (name: string, index: readonly number[]) => {
    return name in WEIGHTS ? numbersIn(tensorOf(name), index) : undefined;
  },
} as unknown as Source;

test("rollout multiplies what the blocks mix, and says by which token each share came", async () => {
  const rolled = await rolledOut(SOURCE, NAMES, "encoder", 0);
  assert.ok(rolled !== undefined);
  // Means of the heads: [.5 .5; .25 .75] with the token itself, then [.5 .5; .5 .5] without.
  assert.deepEqual([...(rolled.blocks[0] ?? [])], [0.75, 0.25, 0.125, 0.875]);
  assert.deepEqual([...(rolled.blocks[1] ?? [])], [0.4375, 0.5625, 0.4375, 0.5625]);
  const ways = waysOf(rolled, [1, 0, 1]);
  assert.deepEqual(
    ways.map(({ by, taken, held }) => [by, taken, held]),
    [
      [1, 0.5, 0.875],
      [0, 0.5, 0.25],
    ],
  );
});

test("a word of two tokens is summed where it is looked at and averaged where it looks", () => {
  const square = [0.2, 0.3, 0.5, 0.4, 0.6, 0, 0.1, 0.1, 0.8];
  assert.deepEqual(
    [...grouped(square, 3, [[0], [1, 2]], [[0, 1], [2]])].map((share) => Math.round(share * 1e9) / 1e9),
    [0.5, 0.5, 0.6, 0.4],
  );
});

test("a head leads by what it gives the first word more than any other", async () => {
  const looks = await looksOf(SOURCE, "encoder.blocks.0.self_attention.weights", 0, [1]);
  assert.ok(looks !== undefined);
  const ties = tiesOf([looks], [unit("b", 1), unit("a", 0)]);
  assert.deepEqual(
    ties.map(({ shares, lead }) => [shares, lead]),
    [
      [[1, 0], 1],
      [[0.5, 0.5], 0],
    ],
  );
  assert.equal(largestTie(ties, ({ lead }) => lead)?.head, 0);
  assert.equal(await looksOf(SOURCE, "elsewhere.weights", 0, [1]), undefined);
});

test("the questions of the documents are found in a text; else the words that are looked at most", async () => {
  const words = ["The", "animal", "was", "tired", "because", "It", "street"].map((text, token) => unit(text, token));
  assert.deepEqual(askedIn(words, words), [5, 1, 6, 3]);
  assert.equal(askedIn(words.slice(0, 4), words), null);
  const looks = { weights: "", heads: [Float64Array.of(0.1, 0.2, 0.7), Float64Array.of(0.8, 0.2, 0)] };
  assert.deepEqual(othersIn([looks], [unit("a", 0), unit("b", 1), unit(".", 2)], -1), [0, 1]);
  assert.deepEqual(othersIn([looks], [unit("a", 0), unit("b", 1), unit("c", 2)], 0), [2, 1]);
});

test("vectors and orders are compared", () => {
  assert.equal(cosineOf(Float64Array.of(1, 0), Float64Array.of(2, 0)), 1);
  assert.ok(Number.isNaN(cosineOf(Float64Array.of(0, 0), Float64Array.of(2, 0))));
  assert.equal(alikeness([1, 2, 3], [10, 20, 30]), 1);
  assert.equal(alikeness([1, 2, 3], [3, 2, 1]), -1);
  // Ranks of ties are averaged: 0, 1.5, 1.5, 3 against 0, 1, 2, 3.
  assert.ok(Math.abs(alikeness([1, 5, 5, 9], [1, 2, 3, 4]) - 4.5 / Math.sqrt(4.5 * 5)) < 1e-12);
  assert.ok(Number.isNaN(alikeness([1, 1], [1, 2])));
});

test("the levels that sum a run up have addresses", () => {
  for (const level of ["ties", "rollout", "lens", "gradients"]) assert.equal(parse(`#level=${level}`).level, level);
});
