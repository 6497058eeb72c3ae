/** What the page tells in words of its own: commands, what is left out, what a mask puts in the place of a score. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Panel } from "../../src/draw/scene.ts";
import { shades } from "../../src/draw/shades.ts";
import { Evaluator, isFill } from "../../src/formulas/evaluator.ts";
import { compute } from "../../src/formulas/interpreter.ts";
import { Names } from "../../src/formulas/names.ts";
import { measureHeads } from "../../src/measures/heads.ts";
import { apart, digitsIn, shareInCell } from "../../src/numbers/apart.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import { more } from "../../src/numbers/written.ts";
import { explains, explainsPadded, quoted } from "../../src/record/commands.ts";
import type { Formula, Rule, RunRecord } from "../../src/record/record.ts";
import { shownHeads } from "../../src/run/shown_heads.ts";
import type { Source } from "../../src/sources/source.ts";

const editing = (command: string, ...texts: string[]) => {
  return { editing: { command, texts } } as unknown as Pick<RunRecord, "editing">;
};

test("a command has the model and the texts of its own run, as a shell reads them", () => {
  const run = editing("glassformer explore 'runs/my model' 'It costs $5.'", "It costs $5.", "He's here.");
  assert.equal(
    explains(run, "--gradients"),
    `glassformer explain 'runs/my model' 'It costs $5.' "He's here." --gradients --html page.html`,
  );
  assert.equal(quoted("don't say $1"), `'don'"'"'t say $1'`);
  assert.equal(
    explains(editing("glassformer explore"), "--x"),
    'glassformer explain MODEL "your text" --x --html page.html',
  );
});

test("two texts of unequal length, of one word too", () => {
  const two = (text: string): string => explainsPadded(editing("glassformer explore en-fr x", text));
  assert.equal(two("I am a student."), 'glassformer explain en-fr "I am" "I am a student." --html page.html');
  assert.equal(two("Go"), 'glassformer explain en-fr Go "Go Go" --html page.html');
  assert.match(explainsPadded(editing("")), /^glassformer explain english ".+" ".+" --html page.html$/);
});

test("what is left out is told with how many there are", () => {
  assert.equal(more(1188, 1200), "1,188 more of 1,200");
});

const SQUARE = "sentence head query key";
const RUN = { scored_at: null, precision: "float64" } as const;

function masked(rule: Rule, looks: number): ReturnType<typeof compute> {
  const formula = { name: "masked", axes: SQUARE, rule, tokens: "inputs", keys: "inputs" } as Formula;
  const tensors: Record<string, Tensor> = {
    scores: { shape: [1, 1, 1, 1], data: [0.5] },
    may_look: { shape: [1, 1, 1, 1], data: [looks] },
    masked: { shape: [1, 1, 1, 1], data: [0] },
  };
  const evaluator = new Evaluator(formula, (name) => tensors[name], RUN);
  return compute(evaluator, { sentence: 0, head: 0, query: 0, key: 0 });
}

test("a masked score is the score and −∞, and a finite fill stands in its place or is added", () => {
  const rule = (name: string, fill: number | string): Rule => ({
    rule: name,
    x: { name: "scores", axes: SQUARE },
    may_look: { name: "may_look", axes: SQUARE },
    fill,
  });
  for (const [name, fill, values, result] of [
    ["fill_set", "-inf", [0.5, -Infinity], -Infinity],
    ["fill_set", -1e4, [-1e4], -1e4],
    ["fill_add", -1e4, [0.5, -1e4], 0.5 - 1e4],
  ] as const) {
    const found = masked(rule(name, fill), 0);
    assert.deepEqual(
      found.terms.map(({ value }) => value),
      values,
    );
    assert.equal(found.result, result);
    assert.deepEqual(
      found.terms.map(isFill),
      values.map((_, place) => place === values.length - 1),
    );
  }
  assert.equal(masked(rule("fill_set", "-inf"), 1).terms.some(isFill), false);
});

test("a part of a text is measured head by head as all heads at once", async () => {
  const [heads, tokens] = [3, 7];
  const name = "encoder.blocks.0.self_attention";
  const random = (seed: number): number => ((Math.sin(seed * 12.9898) * 43758.5453) % 1) ** 2;
  const data = Array.from({ length: heads * tokens * tokens }, (_, at) => random(at + 1));
  const looks = Array.from({ length: heads * tokens * tokens }, (_, at) => Number(at % 5 !== 0));
  const shape = [1, heads, tokens, tokens];
  const tensors: Record<string, number[]> = { [`${name}.weights`]: data, [`${name}.may_look`]: looks };
  const source = {
    shape: () => shape,
    numbersAt: (of: string, [, head]: readonly number[]) => {
      const all = tensors[of];
      const size = tokens * tokens;
      return Promise.resolve(head === undefined ? all : all?.slice(head * size, (head + 1) * size));
    },
  } as unknown as Source;
  const formulas = [{ name: `${name}.weights`, tokens: "inputs", keys: "inputs", rule: { rule: "softmax" } }];
  const run = { formulas, facts: {}, weights: {}, words: { answers: [] }, places: [], shared: {} };
  const names = new Names(run as unknown as RunRecord);
  const units = [0, 1, 2, 4, 6].map((token) => ({ tokens: [token], place: token }));
  const found = await shownHeads(source, names, name, 0, 4, { queries: units, keys: units });
  const part = (all: readonly number[]): number[] => {
    return Array.from({ length: heads }, (_, head) =>
      units.flatMap(({ tokens: [q = 0] }) =>
        units.map(({ tokens: [k = 0] }) => all[(head * tokens + q) * tokens + k] ?? 0),
      ),
    ).flat();
  };
  const small = [1, heads, units.length, units.length];
  const places = units.map(({ place }) => place);
  const given = {
    ...{ real: undefined, closes: undefined, same: undefined, crossing: false },
    mayLook: { shape: small, data: part(looks) },
    places: { queries: places, keys: places },
  };
  const whole = measureHeads({ shape: small, data: part(data) }, 0, given, 4);
  assert.deepEqual(found?.measured, whole.measured);
  assert.deepEqual(found?.shown, whole.shown);
  assert.deepEqual(Array.from(found?.thumbnails.data ?? []), Array.from(whole.thumbnails.data));
  assert.deepEqual(found?.thumbnails.shape, whole.thumbnails.shape);
});

test("unequal shares are told apart by as few digits as do it", () => {
  assert.equal(apart([0.0712, 0.0716], 3), 3);
  assert.equal(apart([0.07142, 0.07144], 3), 5);
  assert.equal(apart([0.25, 0.25, 0], 3), 3);
  // Differences of rounding are none.
  assert.equal(apart([0.1, 0.1 + 1e-9], 3), 3);
  assert.equal(digitsIn([[0.099, 0.101]]), 3);
  assert.equal(digitsIn([[0.2, 0.8]]), 2);
  assert.deepEqual([shareInCell(0.0991, 3), shareInCell(0, 3), shareInCell(0.5, 2)], [".099", "0", "0.50"]);
});

test("a stroke below 0 is promised only where cells have room for it", () => {
  const panel = (tensor: string, side: number): Panel => {
    return { tensor, x: 0, y: 0, w: 4 * side, h: 4 * side, rows: 4, columns: 4, cell: () => [], find: () => null };
  };
  assert.match(shades([panel("a.query", 12)]), /; –: below 0\.$/);
  assert.match(shades([panel("a.query", 12), panel("a.key", 3)]), /where there is room/);
  assert.match(shades([panel("a.query", 3)]), /point at it for its sign/);
  assert.doesNotMatch(shades([panel("a.weights", 12)]), /below 0/);
});
