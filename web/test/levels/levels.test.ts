/** The two widest levels: what is measured of heads, what they are called, the parts of a model, and their pictures. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { Palette } from "../../src/draw/colour.ts";
import type { Scene } from "../../src/draw/scene.ts";
import { Names } from "../../src/formulas/names.ts";
import { headsScene, type Row, sizeFor } from "../../src/levels/heads/heads_scene.ts";
import { headlineOf, JOBS, type Job, jobOf } from "../../src/levels/heads/jobs.ts";
import { modelScene } from "../../src/levels/model/model_scene.ts";
import { partsOf, rough, unread } from "../../src/levels/model/parts.ts";
import { largest } from "../../src/levels/model/predictions.ts";
import {
  MEASURES,
  type Measure,
  type Measured,
  measuredFrom,
  measureHeads,
  windowAt,
} from "../../src/measures/heads.ts";
import type { Formula, Operand, RunRecord } from "../../src/record/record.ts";
import { nextSpot, type Spot, spotAt } from "../../src/views/spots.tsx";

const PALETTE: Palette = {
  ...{ paper: "paper", ink: "ink", quiet: "quiet", hair: "hair", faint: "faint" },
  text: (role) => `text of ${role}`,
  fill: (role) => role,
  cell: (role, strength) => `${role} ${strength.toFixed(2)}`,
  bytes: (_, strength) => [Math.round(strength * 255), 0, 0],
  shade: () => "shade",
  on: () => "on",
};
const measure = (text: string): number => text.length * 6;

function compare(name: string, scene: Scene, spots: readonly Spot[]): void {
  const lines = scene.items.map((item) =>
    Object.entries(item)
      .map(([key, value]) => `${key}=${value}`)
      .join(" "),
  );
  const places = spots.map(({ id, x, y, w, h, label }) => `spot ${id} ${x},${y} ${w}×${h}: ${label}`);
  const text = [`${scene.width}×${scene.height}`, ...lines, ...places, ""].join("\n");
  const file = `test/golden/${name}.txt`;
  if (process.env["UPDATE"] === "1") writeFileSync(file, text);
  assert.equal(text, readFileSync(file, "utf8"));
}

/** Two heads over three tokens, the last one padding: one looks back, one evenly at what is real. */
const WEIGHTS = {
  shape: [1, 2, 3, 3],
  data: [1, 0, 0, 0.75, 0.25, 0, 0.5, 0.5, 0, 0.5, 0.5, 0, 0.5, 0.5, 0, 0.5, 0.5, 0],
};

const PLAIN = { real: undefined, closes: undefined, same: undefined, crossing: false, mayLook: undefined };

test("heads are measured over the tokens that are no padding", () => {
  const mayLook = { shape: [1, 1, 3, 3], data: [1, 0, 0, 1, 1, 0, 1, 1, 0] };
  const same = (query: number, key: number) => query === 1 && key === 0;
  const given = { real: [1, 1, 0], closes: (key: number) => key === 1, same, crossing: false, mayLook };
  const [back, even] = measureHeads(WEIGHTS, 0, given, 32).measured;
  const entropy = -(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25)) / 2;
  const shares = { previous: 0.375, self: 0.625, next: 0, first: 0.875, separator: 0.125, same_word: 0.375 };
  const expected = { distance: 0.375, ...shares };
  for (const [name, value] of Object.entries({ ...expected, entropy, largest: 0.875, even: 0.75 })) {
    assert.ok(Math.abs((back?.[name as keyof Measured] ?? NaN) - value) < 1e-6, name);
  }
  assert.deepEqual([even?.entropy, even?.even, even?.next], [Math.fround(Math.log(2)), 0.75, 0.25]);
});

test("of another text no head looks back, and what closes it may not be known", () => {
  const [measured] = measureHeads(WEIGHTS, 0, { ...PLAIN, crossing: true }, 32).measured;
  for (const name of ["previous", "self", "next", "distance", "separator", "same_word"] as const) {
    assert.ok(Number.isNaN(measured?.[name]), name);
  }
  assert.equal(measured?.first, 0.75);
});

test("a dot is the largest weight of its window, and no weight is left out", () => {
  for (const [dots, tokens] of [
    [2, 3],
    [32, 511],
    [5, 7],
    [3, 3],
  ] as const) {
    const seen = new Set<number>();
    for (let dot = 0; dot < dots; dot++) {
      const [from, to] = windowAt(dot, dots, tokens);
      for (let token = from; token < to; token++) seen.add(token);
    }
    assert.equal(seen.size, tokens);
  }
  const { thumbnails } = measureHeads(WEIGHTS, 0, PLAIN, 2);
  assert.deepEqual(thumbnails.shape, [2, 2, 2]);
  assert.deepEqual([...Array.from(thumbnails.data)].slice(0, 4), [1, 0.25, 0.75, 0.5]);
});

function measured(values: Partial<Measured>): Measured {
  return measuredFrom((name) => values[name] ?? 0);
}

test("a head is called by where most of its attention goes, above what an even look would give", () => {
  assert.deepEqual(jobOf(measured({ previous: 0.4, first: 0.3, even: 0.01 })), { job: "previous", value: 0.4 });
  assert.equal(jobOf(measured({ previous: 0.24, even: 0.01, entropy: 2 })).job, "few");
  assert.equal(jobOf(measured({ even: 1 / 6, entropy: Math.log(2) })).job, "few");
  assert.equal(jobOf(measured({ even: 1 / 80, entropy: 4 })).job, "many");
  // A quarter of five tokens is what each would get anyway.
  assert.equal(jobOf(measured({ self: 0.3, even: 0.2, entropy: 2 })).job, "many");
  assert.equal(jobOf(measured({ previous: NaN, self: NaN, first: 0.6, even: 0.1 })).job, "first");
  const few = jobOf(measured({ entropy: 2, even: 1 / 64 }));
  assert.deepEqual(few, { job: "few", value: Math.exp(2) });
});

test("heads are called as Python calls them", () => {
  const told = JSON.parse(readFileSync("test/golden/jobs.json", "utf8")) as {
    measures: string[];
    jobs: string[];
    cases: { measures: Record<Measure, number | null>; job: string; value: number }[];
  };
  assert.deepEqual([told.measures, told.jobs], [[...MEASURES], [...JOBS]]);
  for (const { measures, job, value } of told.cases) {
    const found = jobOf(measuredFrom((measure) => measures[measure] ?? Number.NaN));
    assert.equal(found.job, job);
    assert.ok(Math.abs(found.value - value) < 1e-12 * value);
  }
});

const MARKS = { first: "[CLS]", closing: "[SEP]" };

test("the headline counts every head once", () => {
  const groups = [
    { job: "previous" as Job, heads: ["0·3", "2·1"] },
    { job: "first" as Job, heads: ["1·0", "1·1", "1·2", "1·3", "1·4"] },
    { job: "many" as Job, heads: ["5·5"] },
  ];
  const said = headlineOf(groups, 8, MARKS).map(({ text }) => text);
  assert.equal(
    said.join(""),
    "2 of 8 heads look mostly one token back (0·3, 2·1), 5 at the first token, [CLS]; 1 looks broadly.",
  );
  const one = headlineOf([{ job: "many", heads: ["0·0"] }], 1, MARKS).map(({ text }) => text);
  assert.equal(one.join(""), "None of 1 head looks at the same place from every token: 1 looks broadly.");
});

const ROW: Row = {
  ...{ attention: "encoder.blocks.0.self_attention", band: "encoder self-attention", block: 0, name: "0" },
  heads: measureHeads(WEIGHTS, 0, PLAIN, 32),
};
const COLOURS = Object.fromEntries(JOBS.map((job) => [job, `colour of ${job}`])) as Record<Job, string>;

test("all heads in a grid, and by a measure", () => {
  const look = { palette: PALETTE, job: COLOURS, only: null, title: (job: Job) => job };
  const size = sizeFor(400, 2, 3);
  assert.equal(size.dots, 3);
  const grid = headsScene([ROW], { ...look, arrange: "" }, size, 400);
  compare("heads", grid.scene, grid.spots);
  for (const arrange of ["job", "previous", "entropy"] as const) {
    const other = headsScene([ROW, { ...ROW, attention: "b", block: 1 }], { ...look, arrange }, size, 400);
    assert.equal(new Set(other.spots.map(({ id }) => id)).size, 4);
  }
});

test("the picture of a head has whole pixels a dot, and fits", () => {
  for (const [width, heads, tokens] of [
    [808, 12, 511],
    [342, 12, 511],
    [1448, 12, 107],
    [808, 16, 9],
    [342, 16, 40],
  ] as const) {
    const { dots, pixels } = sizeFor(width, heads, tokens);
    assert.ok(dots <= Math.max(32, tokens) && Number.isInteger(pixels), `${width}`);
    assert.ok(heads * (dots * pixels) <= width || dots === tokens, `${width} ${heads} ${tokens}`);
  }
});

function formula(
  name: string,
  unit: string,
  read: Readonly<Record<string, string>>,
  axes = "sentence token channel",
): Formula {
  const operands: Record<string, Operand> = {};
  for (const [role, operand] of Object.entries(read)) operands[role] = { name: operand, axes };
  const more = { title: "", extra: false, words: "", mathml: "", tokens: "inputs", keys: "inputs" } as const;
  return { name, axes, rule: { rule: "add", ...operands }, unit, ...more };
}

const TABLE = "parameters.encoder.embed.word.weight";
const RUN: RunRecord = {
  ...{ format: 1, title: "tiny", precision: "float64", error_limit: 1e-12, scored_at: null, places: [], facts: {} },
  model: { family: "tiny", parameters: 60, stacks: [{ side: "encoder", layers: 1, width: 3, heads: 2 }] },
  words: { inputs: [["a", "b", "c"]], decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
  formulas: [
    formula("encoder.embed.word", "encoder.embed", { table: TABLE }),
    formula("encoder.blocks.0.self_attention.weights", "encoder.blocks.0", {
      x: "encoder.embed.word",
      weight: "parameters.encoder.blocks.0.self_attention.query.weight",
    }),
    formula("head.logits", "head", { x: "encoder.blocks.0.self_attention.weights", weight: TABLE }),
  ],
  weights: { [TABLE]: [10, 3], "parameters.encoder.blocks.0.self_attention.query.weight": [3, 3], unread: [21] },
  ...{ shared: {}, changes: "", honesty: null, left_out: {}, limit: 1e6 },
};

test("each weight is counted where it is used first, so that tied ones are counted once", () => {
  const parts = partsOf(new Names(RUN));
  assert.deepEqual(
    parts.map(({ unit, weights }) => [unit, weights]),
    [
      ["encoder.embed", 30],
      ["encoder.blocks.0", 9],
      ["head", 0],
    ],
  );
  assert.deepEqual(parts[2]?.tied, [TABLE]);
  assert.equal(unread(parts, new Names(RUN)), 21);
  assert.equal(rough(14_352_384), "14.4 M");
  assert.equal(rough(9_999), "9,999");
});

test("the parts of a model, at two widths", () => {
  const content = {
    parts: partsOf(new Names(RUN)),
    title: (unit: string) => unit,
    sizes: () => "1 × 3 × 3",
    enters: () => "1 × 3 tokens",
    rows: new Map([[ROW.attention, ROW]]),
    predictions: [
      { asked: "b", hidden: true, guesses: [{ text: "d", share: 0.5, name: "head.logits", cell: [0, 1] }] },
    ],
  };
  const { scene, spots } = modelScene(content, { palette: PALETTE, measure }, 808);
  compare("model", scene, spots);
  assert.deepEqual(
    spots.map(({ id }) => id),
    ["encoder.embed", "encoder.blocks.0", "heads encoder.blocks.0.self_attention", "head", "number head.logits 0,1"],
  );
  for (const { x, w } of modelScene(content, { palette: PALETTE, measure }, 342).spots)
    assert.ok(x >= 0 && x + w <= 344);
});

test("arrow keys lead to the next spot in their direction", () => {
  const spots = [0, 1, 2, 3].map((place): Spot => {
    return { id: String(place), x: (place % 2) * 50, y: Math.floor(place / 2) * 50, w: 40, h: 40, label: "" };
  });
  const from = (id: number, key: string): string | undefined => nextSpot(spots, spots[id] as Spot, key)?.id;
  assert.deepEqual([from(0, "ArrowRight"), from(0, "ArrowDown"), from(3, "ArrowLeft")], ["1", "2", "2"]);
  assert.deepEqual([from(1, "ArrowRight"), from(0, "ArrowUp"), from(0, "x")], [undefined, undefined, undefined]);
  assert.deepEqual([from(2, "Home"), from(0, "End")], ["0", "3"]);
  const inner: Spot = { id: "inner", x: 10, y: 10, w: 10, h: 10, label: "" };
  assert.equal(spotAt([...spots, inner], 15, 15)?.id, "inner");
  assert.equal(spotAt(spots, 45, 45), undefined);
});

test("the largest of many numbers come first", () => {
  assert.deepEqual(largest([0.1, 0.5, 0.2, 0.5], 3), [
    [1, 0.5],
    [3, 0.5],
    [2, 0.2],
  ]);
  assert.deepEqual(largest([], 2), []);
});
