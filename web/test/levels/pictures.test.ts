/** The arithmetic of the pictures: positions by their formula, sorted and counted numbers, the mask workshop. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Sheet, sheetOf } from "../../src/draw/sheet.ts";
import { Names } from "../../src/formulas/names.ts";
import { activityMatrix } from "../../src/levels/mask/activity.ts";
import { countedIn } from "../../src/levels/tensor/pictures/histogram_scene.ts";
import { compared, encodingOf, firstFall } from "../../src/levels/tensor/pictures/positions/positions.ts";
import { shownOf } from "../../src/levels/tensor/pictures/positions/strips_scene.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { RunRecord } from "../../src/record/record.ts";
import type { Store } from "../../src/run/store.ts";

const POSITION = "encoder.embed.position";
const WAVES = {
  rule: "sinusoid",
  position: { name: "inputs.positions", axes: "sentence token" },
  layout: "paper",
  width: 6,
};
const RUN: RunRecord = {
  ...{
    format: 1,
    title: "",
    model: { family: "", parameters: 0, stacks: [] },
    precision: "float64",
    error_limit: 1e-12,
  },
  words: { inputs: [["a", "b", "c"]], decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
  ...{ scored_at: null, places: [] },
  formulas: [
    {
      ...{ name: POSITION, axes: "sentence token channel", rule: WAVES, tokens: "inputs", keys: "inputs" },
      ...{ unit: "", title: "", extra: false, words: "", mathml: "" },
    },
  ],
  facts: { "inputs.positions": { axes: ["sentence", "token"], side: "inputs" } },
  ...{ weights: {}, shared: {}, changes: "", honesty: null, left_out: {}, limit: 0 },
};
const POSITIONS = [1, 0, 7];
const rate = (channel: number): number => 10000 ** -((2 * Math.floor(channel / 2)) / 6);
const wave = (position: number, channel: number): number => {
  return (channel % 2 === 0 ? Math.sin : Math.cos)(position * rate(channel));
};
const TENSORS = new Map<string, Tensor>([
  ["inputs.positions", { shape: [1, 3], data: POSITIONS }],
  [
    POSITION,
    {
      shape: [1, 3, 6],
      data: POSITIONS.flatMap((position) => Array.from({ length: 6 }, (_, channel) => wave(position, channel))),
    },
  ],
]);
const fetch = (name: string): Tensor | undefined => TENSORS.get(name);
const names = new Names(RUN);
const store = { names, fetch } as Store;

function sheet() {
  const found = sheetOf(POSITION, names, fetch);
  assert.ok(found !== null);
  return found;
}

test("an encoding has the run's numbers where words stand, and its formula everywhere", () => {
  const encoding = encodingOf(sheet(), store, 0);
  assert.ok(encoding !== null);
  for (const position of [0, 1, 7, 30, 2.5]) {
    for (let channel = 0; channel < 6; channel++) assert.equal(encoding.at(position, channel), wave(position, channel));
  }
  assert.deepEqual(encoding.factor(7, 3), { name: POSITION, index: [0, 2, 3], value: wave(7, 3) });
  assert.equal(encoding.factor(6, 3).name, null);
  assert.equal(encodingOf(sheet(), store, 0, { width: 512 })?.factor(7, 3).name, null);
});

test("distances fall where the list of corrections says", () => {
  const first = (width: number): number | null => {
    const encoding = encodingOf(sheet(), store, 0, { width });
    return encoding === null ? null : firstFall(encoding, 0);
  };
  assert.deepEqual([6, 64, 128, 512].map(first), [4, 6, 12, 44]);
});

test("the two layouts of the corrections", () => {
  const rounded = (layout: string): string[] => {
    const encoding = encodingOf(sheet(), store, 0, { layout, width: 4 });
    return [0, 1, 2, 3].map((channel) => (encoding?.at(1, channel) ?? 0).toFixed(4));
  };
  assert.deepEqual(rounded("paper"), ["0.8415", "0.5403", "0.0100", "1.0000"]);
  assert.deepEqual(rounded("tensor2tensor"), ["0.8415", "0.0001", "0.5403", "1.0000"]);
});

test("a measure of two positions is that of their vectors", () => {
  const at = (position: number, channel: number): number =>
    [
      [3, 4],
      [0, 0],
      [6, 8],
    ][position]?.[channel] ?? 0;
  assert.equal(compared({ at, width: 2 }, 0, 1, "distance"), 5);
  assert.equal(compared({ at, width: 2 }, 0, 2, "product"), 50);
  assert.equal(compared({ at, width: 2 }, 0, 2, "cosine"), 1);
});

test("a histogram counts each number once, and what was filled in apart", () => {
  const tensor = { shape: [1, 1, 2, 4], data: [1, 2, 2, -1000, 0, 4, 3, -Infinity] };
  const layout = { rows: "axis 2", columns: "axis 3", sheets: null, depth: null };
  const laid = new Sheet("x", tensor, new Names({ ...RUN, weights: { x: tensor.shape } }), layout, 4);
  const counted = countedIn(laid, [0, 0, 0, 1]);
  assert.deepEqual([counted.low, counted.high, counted.filled, counted.zero, counted.of], [0, 4, 2, 1, 8]);
  assert.equal(
    counted.bins
      .map(({ count }) => count)
      .join("")
      .replaceAll("0", ""),
    "11211",
  );
  // A click on the column of the number in hand goes to the other 2.
  assert.deepEqual(counted.bins[counted.held]?.cell, [0, 0, 0, 2]);
});

test("the curve in hand is always among those that are drawn", () => {
  for (const held of [0, 5, 200, 383]) {
    const shown = shownOf(384, held);
    assert.ok(shown.includes(held));
    assert.equal(new Set(shown).size, shown.length);
  }
});

test("the three readings of the activity matrix, and a cell changed by hand", () => {
  const features: Tensor = { shape: [1, 3, 2], data: [1, 0, 0, 1, 1, 1] };
  const asked = {
    features,
    from: "features",
    sentence: 0,
    words: 3,
    flipped: new Set<string>(),
    window: 0,
    prefix: 0,
    padding: 0,
  } as const;
  const allowed = (reading: "code" | "stated" | "pairs", hidden: number[], flipped: string[] = []): string => {
    const more = { reading, nothing: "itself", hidden: new Set(hidden), flipped: new Set(flipped) } as const;
    const rows = activityMatrix({ ...asked, ...more }).allowed;
    return rows.map((row) => row.map(Number).join("")).join(" ");
  };
  assert.equal(allowed("code", [1]), "100 010 001");
  assert.equal(allowed("stated", [1]), "100 100 101");
  assert.equal(allowed("stated", [0]), "100 010 011");
  assert.equal(allowed("pairs", [1]), "101 101 101");
  assert.equal(allowed("pairs", [1], ["0-1", "0-0"]), "011 101 101");
  const zero = activityMatrix({ ...asked, reading: "stated", nothing: "zero", hidden: new Set([0]) });
  assert.deepEqual(zero.weights[0], [0, 0, 0]);
  assert.deepEqual(zero.alone, [0]);
  const sums = activityMatrix({ ...asked, reading: "pairs", nothing: "itself", hidden: new Set() });
  assert.deepEqual(sums.pairs, [
    [1, 0, 1],
    [0, 1, 1],
    [1, 1, 2],
  ]);
  for (const row of sums.weights) assert.ok(Math.abs(row.reduce((all, one) => all + one, 0) - 1) < 1e-15);
});
