import assert from "node:assert/strict";
import { test } from "node:test";
import type { Palette } from "../../src/draw/colour.ts";
import { frameOf, panelAt, type Scene } from "../../src/draw/scene.ts";
import { Names } from "../../src/formulas/names.ts";
import { sizeOf, type Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, RunRecord } from "../../src/record/record.ts";
import { tourScene } from "../../src/scenes/scenes.ts";
import { filled, joined, listed, type Said } from "../../src/scout/said.ts";
import { Scout } from "../../src/scout/scout.ts";

const aloud = (parts: readonly Said[]): string =>
  parts.map((part) => (typeof part === "string" ? part : part.text)).join("");

test("a text takes in words, numbers and counts", () => {
  const word = { text: "likes", of: "hidden" };
  assert.equal(aloud(filled("{word} is one of {count} words.", { word, count: 1234 })), "likes is one of 1,234 words.");
  assert.equal(aloud(filled("{a}{b}", { a: joined(["x", "y"], " + "), b: "" })), "x + y");
});

test("a text that wants what a step does not give is refused", () => {
  assert.throws(() => filled("{word} is one of {count} words.", { word: "likes" }), /nothing to put for count/);
});

test("words in a row", () => {
  assert.deepEqual(
    [["a"], ["a", "b"], ["a", "b", "c"]].map((words) => aloud(listed(words))),
    ["a", "a and b", "a, b and c"],
  );
  assert.equal(aloud(listed(["a", "b", "c", "d"], 2)), "a, b and 2 more");
});

// A run of one sentence, three words, two heads of two channels: enough for every picture of the tour but the twins.
const A = "encoder.blocks.0.self_attention";
const SQUARE = "sentence head query key";
const MIXED = "sentence head query channel";
const KEYS = "sentence head key channel";
const STREAM = "sentence token channel";

function made(last: string, axes: string, rule: string, read: readonly [string, string][]): Formula {
  const operands = Object.fromEntries(read.map(([name, own], place) => [`x${place}`, { name, axes: own }]));
  const more = { unit: "encoder.blocks.0", title: "", extra: false, words: "", mathml: "" };
  return { name: last, axes, rule: { rule, ...operands }, tokens: "inputs", keys: "inputs", ...more };
}

const TABLES = ["query", "key", "value", "output"].map((last) => `parameters.${A}.${last}.weight`);
const WEIGHT = "(head:2 channel) input";
const FORMULAS = [
  made("encoder.embed.sum", STREAM, "add", []),
  made(`${A}.query`, MIXED, "linear", [
    ["encoder.embed.sum", "sentence query input"],
    [TABLES[0] ?? "", WEIGHT],
  ]),
  made(`${A}.key`, KEYS, "linear", [[TABLES[1] ?? "", WEIGHT]]),
  made(`${A}.value`, KEYS, "linear", [[TABLES[2] ?? "", WEIGHT]]),
  made(`${A}.scores`, SQUARE, "dot_product", []),
  made(`${A}.may_look`, SQUARE, "may_look", []),
  made(`${A}.weights`, SQUARE, "softmax", []),
  made(`${A}.mixed`, MIXED, "weighted_sum", []),
  made(`${A}.merged`, STREAM, "concatenate", []),
  made(`${A}.output`, STREAM, "linear", [[TABLES[3] ?? "", "channel input"]]),
];
const SHAPES: Readonly<Record<string, readonly number[]>> = {
  [STREAM]: [1, 3, 4],
  [MIXED]: [1, 2, 3, 2],
  [KEYS]: [1, 2, 3, 2],
  [SQUARE]: [1, 2, 3, 3],
};
const RUN: RunRecord = {
  ...{ format: 1, title: "tiny", precision: "float64", error_limit: 1e-12, scored_at: null, places: [] },
  model: { family: "slides", parameters: 0, stacks: [{ side: "encoder", layers: 1, width: 4, heads: 2 }] },
  words: {
    inputs: [["a", "b", "c"]],
    ...{ decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
  },
  ...{
    formulas: FORMULAS,
    facts: {},
    weights: Object.fromEntries(TABLES.map((name) => [name, [4, 4]])),
    shared: {},
    changes: "",
    honesty: null,
  },
  ...{ left_out: {}, limit: 1e6 },
};
const TENSORS = new Map<string, Tensor>([
  ...FORMULAS.map(({ name, axes }): [string, Tensor] => {
    const shape = SHAPES[axes] ?? [];
    return [name, { shape, data: Array.from({ length: sizeOf(shape) }, (_, at) => Math.sin(at)) }];
  }),
  ...TABLES.map((name): [string, Tensor] => {
    return [name, { shape: [4, 4], data: Array.from({ length: 16 }, (_, at) => Math.cos(at)) }];
  }),
]);
const PALETTE: Palette = {
  ...{ paper: "paper", ink: "ink", quiet: "quiet", hair: "hair", faint: "faint" },
  text: (role) => `text of ${role}`,
  fill: (role) => role,
  cell: (role) => role,
  bytes: () => [0, 0, 0],
  shade: (role) => role,
  on: () => "on",
};
const LOOK = { palette: PALETTE, measure: (text: string) => text.length * 6, side: 16, step: 6, sentence: 0 };

function drawn(scene: string, width: number, cell: readonly number[]): Scene {
  const scout = new Scout(new Names(RUN), (name) => TENSORS.get(name), 0);
  const tensor = `${A}.${scene === "mixing" ? "weights" : "scores"}`;
  return tourScene(scene, scout, { ...LOOK, text: "", word: -1 }, width, { tensor, cell });
}

test("each cell of the tour's pictures is found where it is drawn, inside of the picture, on no other panel", () => {
  for (const scene of ["cells", "mixing", "shared", "product", "recap", "two-words", "matrix", "split"]) {
    for (const width of [340, 800]) {
      const { panels, height } = drawn(scene, width, [0, 1, 1, 1]);
      assert.ok(panels.length >= 2, scene);
      for (const panel of panels) {
        assert.ok(panel.x >= 0 && panel.x + panel.w <= width && panel.y + panel.h <= height, `${scene} ${width}`);
        for (let row = 0; row < panel.rows; row++) {
          for (let column = 0; column < panel.columns; column++) {
            const { x, y, w, h } = frameOf(panel, row, column);
            assert.deepEqual(panelAt({ width, height, items: [], panels }, x + w / 2, y + h / 2), {
              panel,
              row,
              column,
            });
            assert.deepEqual(panel.find(panel.cell(row, column)), [row, column]);
          }
        }
      }
    }
  }
});

test("scores and weighted values are there as far as the cell in hand, and no further", () => {
  const empty = (scene: string, cell: readonly number[]): number => {
    return drawn(scene, 800, cell).items.filter((item) => "fill" in item && !("text" in item) && item.fill === "faint")
      .length;
  };
  assert.equal(empty("cells", [0, 0, 0, 0]), 8);
  assert.equal(empty("cells", [0, 0, 1, 1]), 4);
  assert.equal(empty("cells", [0, 0, 2, 2]), 0);
  assert.equal(empty("mixing", [0, 0, 1, 0]), 4);
  assert.equal(empty("mixing", [0, 0, 1, 2]), 0);
});

test("the last line of weighted values is what they add up to, the model's own number once all are in", () => {
  const mixed = `${A}.mixed`;
  assert.ok(!drawn("mixing", 800, [0, 0, 1, 1]).panels.some(({ tensor }) => tensor === mixed));
  assert.ok(drawn("mixing", 800, [0, 0, 1, 2]).panels.some(({ tensor }) => tensor === mixed));
});

test("two words are those of the address, else a pair that shares a weight out; each stage has a number for both", () => {
  const scout = new Scout(new Names(RUN), (name) => TENSORS.get(name), 0);
  const looked = (at: readonly number[]): (readonly number[])[] => {
    const { panels } = tourScene("two-words", scout, { ...LOOK, text: "", word: -1 }, 800, {
      tensor: "",
      cell: [],
      at,
    });
    return panels.filter(({ tensor }) => tensor === `${A}.weights`).map((panel) => panel.cell(0, 0));
  };
  assert.deepEqual(looked([2, 0, 1, 0]), [
    [0, 1, 2, 2],
    [0, 1, 2, 0],
  ]);
  assert.equal(looked([]).length, 2);
  // Beyond the sentence the last word is taken.
  assert.deepEqual(looked([9, 1, 0, 7]), [
    [0, 0, 2, 2],
    [0, 0, 2, 1],
  ]);
});

test("no text of a picture runs out of it, on a phone either", () => {
  for (const scene of ["two-words", "matrix", "split", "stages"]) {
    for (const width of [340, 800]) {
      for (const item of drawn(scene, width, [0, 1, 1, 1]).items) {
        if (!("text" in item) || item.turned === true) continue;
        const wide = item.text.trimEnd().length * 6;
        const left = item.align === "right" ? item.x - wide : item.align === "center" ? item.x - wide / 2 : item.x;
        assert.ok(left >= -1 && left + wide <= width + 1, `${scene} ${width}: ${item.text} at ${left}`);
      }
    }
  }
});
