/** One head: which rows there are, what they hold, which lines are drawn, and the picture as text. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { headWords, toHead } from "../../src/address/links.ts";
import type { Palette } from "../../src/draw/colour.ts";
import { panelAt, type Scene } from "../../src/draw/scene.ts";
import { attentionOf, cellNear, peersOf, weightsNear } from "../../src/formulas/attention.ts";
import { isMark, Names } from "../../src/formulas/names.ts";
import { handScene } from "../../src/levels/head/hand.ts";
import { planOf, type Shown } from "../../src/levels/head/plan.ts";
import { listed } from "../../src/levels/head/score_table.tsx";
import { drawnOf, stillScene } from "../../src/levels/head/still.ts";
import { isRightToLeft, type Spans, segmentsOf, tokensOf, type Unit, wordsOf } from "../../src/levels/head/units.ts";
import { rowsOf, strongest, Weights } from "../../src/levels/head/weights.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, Rule, RunRecord } from "../../src/record/record.ts";

const SQUARE = "sentence head query key";

function formula(name: string, axes: string, rule: Rule): Formula {
  const more = { unit: "encoder.blocks.0", title: "", extra: false, words: "", mathml: "" };
  return { name, axes, rule, tokens: "inputs", keys: "inputs", ...more };
}

/** An attention whose scores are scaled, biased by distance and masked, with two heads for each key-value head. */
function attention(path: string): Formula[] {
  const square = (name: string) => ({ name, axes: SQUARE });
  const own = (last: string) => square(`${path}.${last}`);
  const vectors = { name: `${path}.value`, axes: "sentence head/2 key channel" };
  return [
    formula(`${path}.scores`, SQUARE, {
      rule: "dot_product",
      left: { name: `${path}.query`, axes: "sentence head query channel" },
      right: { name: `${path}.key`, axes: "sentence head/2 key channel" },
    }),
    formula(`${path}.scaled`, SQUARE, { rule: "scale", x: own("scores"), by: 0.5 }),
    formula(`${path}.biased`, SQUARE, {
      rule: "add",
      terms: { score: own("scaled"), bias: square("encoder.relative_bias") },
    }),
    formula(`${path}.may_look`, SQUARE, { rule: "may_look" }),
    formula(`${path}.masked`, SQUARE, {
      rule: "fill_set",
      x: own("biased"),
      may_look: own("may_look"),
      fill: -1000,
    }),
    formula(`${path}.weights`, SQUARE, { rule: "softmax", x: own("masked"), over: "key" }),
    formula(`${path}.mixed`, "sentence head query channel", {
      rule: "weighted_sum",
      weights: own("weights"),
      values: vectors,
      over: "key",
    }),
  ];
}

function run(inputs: readonly string[], vocabulary: readonly string[] = []): RunRecord {
  return {
    format: 1,
    title: "tiny",
    model: { family: "bert", parameters: 0, stacks: [] },
    precision: "float64",
    error_limit: 1e-12,
    words: { inputs: [inputs], decoder_inputs: [], vocabulary, labels: [], candidates: [], answers: [] },
    scored_at: null,
    places: [],
    formulas: [attention("encoder.blocks.0.self_attention"), attention("encoder.blocks.1.self_attention")].flat(),
    facts: {},
    weights: {},
    shared: {},
    changes: "",
    honesty: null,
    left_out: {},
    limit: 1e6,
  };
}

const WEIGHTS = "encoder.blocks.0.self_attention.weights";

test("the stages of an attention are read from its formulas", () => {
  const names = new Names(run(["a", "b"]));
  const found = attentionOf(WEIGHTS, names);
  const stages = found?.stages.map((name) => name.split(".").at(-1));
  assert.deepEqual(stages, ["scores", "scaled", "biased", "masked", "weights"]);
  assert.deepEqual([...(found?.added ?? [])], [["encoder.blocks.0.self_attention.biased", "encoder.relative_bias"]]);
  assert.equal(found?.mayLook, "encoder.blocks.0.self_attention.may_look");
  assert.equal(found?.values?.axes, "sentence head/2 key channel");
  assert.equal(attentionOf("encoder.relative_bias", names), null);
  assert.deepEqual(peersOf(WEIGHTS, names), [WEIGHTS, WEIGHTS.replace("0", "1")]);
});

test("a tensor of an attention leads to its head", () => {
  const names = new Names(run(["a", "b"]));
  assert.equal(weightsNear("encoder.blocks.0.self_attention.masked", names), WEIGHTS);
  assert.equal(weightsNear("parameters.encoder.blocks.0.self_attention.query.weight", names), WEIGHTS);
  assert.equal(weightsNear("encoder.relative_bias", names), null);
  assert.deepEqual(cellNear("encoder.blocks.0.self_attention.mixed", [2, 1, 4, 3], names), [2, 1, 4, 4]);
  assert.deepEqual(cellNear("encoder.blocks.0.self_attention.scores", [2, 1, 4, 3], names), [2, 1, 4, 3]);
});

test("a shared head of keys or values leads to the first head that reads it, and says so", () => {
  const path = "encoder.blocks.0.self_attention";
  const own = run(["a", "b"]);
  const grouped = ["key", "value"].map((last) => {
    return formula(`${path}.${last}`, "sentence key_value_head key channel", { rule: "product" });
  });
  const names = new Names({ ...own, formulas: [...grouped, ...own.formulas] });
  for (const last of ["key", "value"]) {
    assert.deepEqual(cellNear(`${path}.${last}`, [0, 1, 4, 3], names), [0, 2, 4, 4]);
    assert.equal(headWords(`${path}.${last}`, [0, 1, 4, 3], names), "head 2, the first of the 2 that read it");
    assert.equal(names.cell(`${path}.${last}`, [0, 1, 0, 3]), "key–value head 1, channel 3, a");
    assert.ok(toHead(`${path}.${last}`, [0, 1, 4, 3], names)?.includes("0,2,4,4"));
  }
  assert.deepEqual(cellNear(`${path}.mixed`, [0, 3, 1, 0], names), [0, 3, 1, 1]);
  assert.equal(headWords(`${path}.mixed`, [0, 3, 1, 0], names), "its head");
});

function units(inputs: readonly string[], vocabulary: readonly string[] = [], spans: Spans = null): string[] {
  const names = new Names(run(inputs, vocabulary));
  const text = { names, side: "inputs", sentence: 0, spans, fetch: () => undefined } as const;
  return wordsOf(text, tokensOf(text)).map((unit) => unit.text);
}

test("tokens are joined to words by the marks of their tokenizer, or by where they stand", () => {
  const pieces = ["[CLS]", "un", "##believ", "##able", ",", "yes", "[SEP]"];
  assert.deepEqual(units(pieces, ["##able"]), ["[CLS]", "unbelievable", ",", "yes", "[SEP]"]);
  assert.deepEqual(units(["▁un", "like", "ly", ".", "▁So", "</s>"]), ["unlikely", ".", "So", "</s>"]);
  assert.deepEqual(units(["She", "Ġlik", "es", "Ġit"]), ["She", "likes", "it"]);
  assert.deepEqual(units(["▁我", "喜", "欢"]), ["我", "喜", "欢"]);
  const spans = [null, [0, 0, 4], [0, 4, 5], [0, 5, 6], [0, 7, 12], null] as const;
  const typed = ["[CLS]", "didn", "'", "t", "cross", "[SEP]"];
  assert.deepEqual(units(typed, ["##s"], spans), ["[CLS]", "didn't", "cross", "[SEP]"]);
  assert.deepEqual(units(["a", "b"]), ["a", "b"]);
});

test("marks are no words, but a masked or unknown word and a byte are", () => {
  for (const mark of ["[CLS]", "[SEP]", "</s>", "<pad>", "<|endoftext|>"]) assert.ok(isMark(mark), mark);
  for (const word of ["[MASK]", "<mask>", "[UNK]", "<unk>", "<0xC3>", "word", "[", "<"]) assert.ok(!isMark(word), word);
});

test("a word of several tokens is summed where it is looked at and averaged where it looks", () => {
  const data = [0.5, 0.3, 0.2, 0.1, 0.6, 0.3, 0.25, 0.25, 0.5];
  const unit = (...tokens: number[]): Unit => ({ tokens, text: "", hidden: false, mark: false });
  const rows = [unit(0), unit(1, 2)];
  const found = new Weights(rowsOf({ shape: [1, 1, 3, 3], data }, 0, 0), rows, rows);
  const near = (one: readonly number[] | Float64Array | null, two: readonly number[]): void => {
    for (const [place, value] of two.entries()) assert.ok(Math.abs((one?.[place] ?? 9) - value) < 1e-12);
  };
  near(found.row(0), [0.5, 0.5]);
  near(found.row(1), [0.175, 0.825]);
  assert.equal(found.strongestIn(2, unit(1, 2)), 2);
});

test("lines are kept until they hold the share, the strongest first, and never more than the limit", () => {
  assert.deepEqual(strongest([0.1, 0.4, 0, 0.35, 0.15]), [1, 3]);
  assert.deepEqual(strongest([0.1, 0.4, 0, 0.35, 0.15], 0.8), [1, 3, 4]);
  assert.deepEqual(strongest(new Array(100).fill(0.01), 0.7, 5).length, 5);
  assert.deepEqual(strongest([0, 0]), []);
});

test("of a long text the largest weights are listed in the order of the text, and the others counted", () => {
  const weights = Array.from({ length: 100 }, (_, key) => (key === 90 ? 0.5 : key === 3 ? 0.3 : 0.2 / 98));
  const { rows, count, mass } = listed(weights, 2);
  assert.deepEqual(
    rows.map(({ key }) => key),
    [3, 90],
  );
  assert.equal(count, 98);
  assert.ok(Math.abs(mass - 0.2) < 1e-12);
});

test("a pair is told by its segments", () => {
  const names = new Names(run(["a", "b", "c"]));
  const text = (data: number[]) => {
    const fetch = (): Tensor => ({ shape: [1, 3], data });
    return { names, side: "inputs", sentence: 0, spans: null, fetch } as const;
  };
  assert.deepEqual(segmentsOf(text([0, 1, 1])), [0, 1, 1]);
  assert.equal(segmentsOf(text([0, 0, 0])), null);
});

/** A palette that says what a colour means. */
const PALETTE: Palette = {
  ...{ paper: "#ffffff", ink: "ink", quiet: "quiet", hair: "hair", faint: "faint" },
  text: (role) => `text of ${role}`,
  fill: (role) => role,
  cell: (role, strength) => `${role} ${strength.toFixed(2)}`,
  bytes: () => [0, 0, 0],
  shade: (role) => role,
  on: () => "on",
};

/** A head in which each word looks at the words before it and at itself alike. */
function shownOf(words: readonly string[]): Shown {
  const count = words.length;
  const rows: Unit[] = words.map((text, token) => ({ tokens: [token], text, hidden: false, mark: false }));
  const data = Array.from({ length: count * count }, (_, place) => {
    const [query, key] = [Math.floor(place / count), place % count];
    return key <= query ? 1 / (query + 1) : 0;
  });
  const tensor: Tensor = { shape: [1, 1, count, count], data };
  const weights = new Weights(rowsOf(tensor, 0, 0), rows, rows);
  return {
    heads: [{ name: "head 0", block: "", weights, colour: "#0000ff", dash: 0 }],
    own: 0,
    queries: rows,
    keys: rows,
    tensor: WEIGHTS,
    sentence: 0,
    head: 0,
    masked: (query, key) => key > query,
    only: false,
    rightToLeft: isRightToLeft(rows),
    palette: PALETTE,
    measure: (text) => text.length * 6,
  };
}

function texts(scene: Scene): string[] {
  return scene.items.flatMap((item) => ("text" in item ? [item.text] : []));
}

for (const [count, width] of [
  [4, 808],
  [15, 808],
  [15, 340],
  [60, 808],
  [200, 1400],
  [512, 808],
] as const) {
  for (const across of [false, true]) {
    test(`a picture of ${count} words in ${width} pixels${across ? ", words across," : ""} stays within itself`, () => {
      const shown = shownOf(Array.from({ length: count }, (_, token) => `word${token}`));
      const plan = planOf(shown, width, across);
      const scenes = [stillScene(shown, plan), handScene(shown, plan, { query: count - 1, key: 0, side: "queries" })];
      assert.ok(plan.width <= width);
      for (const scene of scenes) {
        for (const item of scene.items) {
          if ("d" in item || "points" in item) continue;
          const what = JSON.stringify(item);
          assert.ok(item.x >= -2 && item.x <= plan.width + 2, what);
          assert.ok(item.y >= -2 && item.y <= plan.height, what);
        }
      }
      // No two words of a column lie over each other.
      const words = [...(plan.dense ? [] : (scenes[0]?.items ?? [])), ...(plan.dense ? (scenes[1]?.items ?? []) : [])];
      const places = words.flatMap((item) => {
        return "text" in item && item.text.startsWith("word") ? [`${item.align} ${item.x} ${item.y}`] : [];
      });
      assert.equal(new Set(places).size, places.length);
    });
  }
}

test("each cell of the square is found where it is drawn, also where words stand from right to left", () => {
  for (const [words, across] of [
    [["a", "b", "c"], false],
    [["א", "ב", "ג"], true],
  ] as const) {
    const shown = shownOf(words);
    const scene = handScene(shown, planOf(shown, 808, across), { query: 1, key: 0, side: "queries" });
    const square = scene.panels[0];
    assert.ok(square !== undefined);
    for (let row = 0; row < 3; row++) {
      for (let column = 0; column < 3; column++) {
        const [x, y] = [square.x + (square.w * (column + 0.5)) / 3, square.y + (square.h * (row + 0.5)) / 3];
        assert.deepEqual(panelAt(scene, x, y), { panel: square, row, column });
        const cell = square.cell(row, column);
        assert.deepEqual(cell, [0, 0, row, across ? 2 - column : column]);
        assert.deepEqual(square.find(cell), [row, column]);
      }
    }
  }
});

test("a weight of 0 that is masked is written 0, and striped", () => {
  const shown = shownOf(["a", "b"]);
  const plan = planOf(shown, 808, false);
  const still = stillScene(shown, plan);
  assert.deepEqual(texts(still).slice(0, 4), ["1", "0", "0.50", "0.50"]);
  assert.ok(still.items.some((item) => "d" in item && item.stroke.startsWith("residual")));
  const hand = handScene(shown, plan, { query: 0, key: 0, side: "queries" });
  assert.deepEqual(texts(hand), ["a", "1.000", "0"]);
});

test("what is drawn of all lines is counted", () => {
  const shown = shownOf(["a", "b", "c", "d"]);
  const [head] = shown.heads;
  assert.ok(head !== undefined);
  const { lines, of, mass } = drawnOf(head.weights, shown);
  assert.deepEqual([lines, of], [1 + 2 + 3 + 3, 10]);
  assert.ok(Math.abs(mass - (1 + 1 + 1 + 0.75) / 4) < 1e-12);
});
