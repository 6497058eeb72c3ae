/** A picture is compared as text: what is drawn, where, in which order. UPDATE=1 writes the expected text anew. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Look } from "../../src/draw/box.ts";
import type { Palette } from "../../src/draw/colour.ts";
import { frameOf, panelAt, type Scene } from "../../src/draw/scene.ts";
import { sheetOf } from "../../src/draw/sheet.ts";
import { Names } from "../../src/formulas/names.ts";
import { blockScene } from "../../src/levels/block/block_scene.ts";
import { gridScene, windowOf } from "../../src/levels/tensor/grid_scene.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, Operand, RunRecord } from "../../src/record/record.ts";

function formula(name: string, axes: string, rule: string, read: Readonly<Record<string, Operand>>): Formula {
  const more = { unit: "encoder.blocks.0", title: "", extra: false, words: "", mathml: "" };
  return { name, axes, rule: { rule, ...read }, tokens: "inputs", keys: "inputs", ...more };
}

const STREAM = "sentence token channel";
const SQUARE = "sentence head query key";
const [QUERY, SCORES, WEIGHTS] = ["query", "scores", "weights"].map(
  (each) => `encoder.blocks.0.self_attention.${each}`,
);

const RUN: RunRecord = {
  format: 1,
  title: "tiny",
  model: { family: "slides", parameters: 0, stacks: [] },
  precision: "float64",
  error_limit: 1e-12,
  words: {
    inputs: [["a", "[MASK]"]],
    decoder_inputs: [],
    vocabulary: [],
    labels: [],
    candidates: [],
    answers: [[0, 1, "b"]],
  },
  scored_at: null,
  places: [],
  formulas: [
    formula("encoder.embed.word", STREAM, "look_up", {}),
    formula(QUERY ?? "", "sentence head query channel", "linear", { x: { name: "encoder.embed.word", axes: STREAM } }),
    formula(SCORES ?? "", SQUARE, "dot_product", { left: { name: QUERY ?? "", axes: "sentence head query channel" } }),
    formula(WEIGHTS ?? "", SQUARE, "softmax", { x: { name: SCORES ?? "", axes: SQUARE } }),
  ],
  facts: {},
  weights: {},
  shared: {},
  changes: "",
  honesty: null,
  left_out: {},
  limit: 1e6,
};

const TENSORS = new Map<string, Tensor>([
  ["encoder.embed.word", { shape: [1, 2, 3], data: [1, -2, 3, 0, 0, 0] }],
  [QUERY ?? "", { shape: [1, 1, 2, 2], data: [0.5, -0.5, 1, 2] }],
  [SCORES ?? "", { shape: [1, 1, 2, 2], data: [1, -1, 2, 0] }],
  [WEIGHTS ?? "", { shape: [1, 1, 2, 2], data: [1, 0, 1, 0] }],
]);

/** A palette that says what a colour means. */
const PALETTE: Palette = {
  ...{ paper: "paper", ink: "ink", quiet: "quiet", hair: "hair", faint: "faint" },
  text: (role) => `text of ${role}`,
  fill: (role) => role,
  cell: (role, strength) => `${role} ${strength.toFixed(2)}`,
  bytes: () => [0, 0, 0],
  shade: (role, strength, by) => `${role} ${strength.toFixed(2)} shaded ${by}`,
  on: () => "on",
};

const measure = (text: string): number => text.length * 6;
const LOOK: Look = { palette: PALETTE, measure, side: 13, step: 6, sentence: 0, text: "inputs", word: 1 };
const names = new Names(RUN);
const fetch = (name: string): Tensor | undefined => TENSORS.get(name);

function asText(scene: Scene): string {
  const lines = scene.items.map((item) =>
    Object.entries(item)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
  );
  const panels = scene.panels.map(({ tensor, x, y, w, h, rows, columns }) => {
    return `panel ${tensor} ${x},${y} ${w}×${h} ${rows}×${columns}`;
  });
  return [`${scene.width}×${scene.height}`, ...lines, ...panels, ""].join("\n");
}

function compare(name: string, scene: Scene): void {
  const file = `test/golden/${name}.txt`;
  if (process.env["UPDATE"] === "1") writeFileSync(file, asText(scene));
  assert.equal(asText(scene), readFileSync(file, "utf8"));
}

test("the boxes of a block", () => {
  compare("block", blockScene(RUN.formulas, names, fetch, LOOK, 800));
});

test("the boxes in a narrow window stand below each other", () => {
  const scene = blockScene(RUN.formulas, names, fetch, LOOK, 260);
  const tops = scene.panels.map((panel) => panel.y);
  assert.ok(new Set(tops).size > 1);
  for (const panel of scene.panels) assert.ok(panel.x >= 0 && panel.x + panel.w <= 260, panel.tensor);
});

test("the numbers of a tensor", () => {
  const sheet = sheetOf(QUERY ?? "", names, fetch);
  assert.ok(sheet !== null);
  compare("grid", gridScene(sheet, [0, 0, 1, 0], windowOf(sheet, 1, 0, 600, 400), 0, PALETTE, measure));
});

test("each cell is found where it is drawn", () => {
  const scene = blockScene(RUN.formulas, names, fetch, LOOK, 800);
  assert.equal(scene.panels.length, 4);
  for (const panel of scene.panels) {
    for (let row = 0; row < panel.rows; row++) {
      for (let column = 0; column < panel.columns; column++) {
        const { x, y, w, h } = frameOf(panel, row, column);
        const found = panelAt(scene, x + w / 2, y + h / 2);
        assert.deepEqual(found, { panel, row, column });
        assert.deepEqual(panel.find(panel.cell(row, column)), [row, column]);
      }
    }
  }
});
