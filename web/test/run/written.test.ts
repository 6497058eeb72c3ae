/** A text as it is written: its triangle grows row by row, its weights are those of a head or the mean of all. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Palette } from "../../src/draw/colour.ts";
import { triangleScene } from "../../src/levels/tree/triangle_scene.ts";
import { shareOf } from "../../src/levels/tree/weights.ts";
import { Search, type SearchRecord } from "../../src/levels/tree/written/search.ts";

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

test("the share of a head, and the mean of all", () => {
  // [sentence 1, head 2, query 2, key 2]
  const all = [1, 0, 0.25, 0.75, 1, 0, 0.5, 0.5];
  const shape = [1, 2, 2, 2];
  assert.equal(shareOf(all, shape, 0)(1, 1), 0.75);
  assert.equal(shareOf(all, shape, 1)(1, 0), 0.5);
  assert.equal(shareOf(all, shape, null)(1, 0), 0.375);
});

test("the triangle has a row more with each step and no cell behind the diagonal", () => {
  const words = ["She", "likes", "the", "summer"];
  const share = (query: number, key: number): number => (key <= query ? 1 / (query + 1) : 9);
  const cell = (query: number, key: number): number[] => [0, 1, query, key];
  for (const step of [0, 2, 3]) {
    const scene = triangleScene({ tensor: "weights", words, step, share, cell }, PALETTE, measure, 400);
    const [panel] = scene.panels;
    assert.ok(panel !== undefined);
    assert.deepEqual([panel.rows, panel.columns], [step + 1, step + 1]);
    // Where nothing may be seen, pointing stays on the diagonal.
    assert.deepEqual(panel.cell(0, step), [0, 1, 0, 0]);
    assert.deepEqual(panel.find([0, 1, step, 0]), [step, 0]);
    assert.equal(panel.find([0, 1, step + 1, 0]), null);
    const image = scene.items.find((item) => "pixels" in item);
    assert.ok(image !== undefined && "pixels" in image);
    const red = (query: number, key: number): number => image.pixels[(query * (step + 1) + key) * 4] ?? -1;
    assert.equal(red(step, 0), Math.round(255 * Math.sqrt(1 / (step + 1))));
    if (step > 0) assert.equal(red(0, step), 255);
    const named = scene.items.flatMap((item) => ("text" in item ? [item.text] : []));
    assert.deepEqual(named, words.slice(0, step + 1));
  }
  // The picture keeps its size while it grows.
  const sizes = [0, 3].map((step) => {
    const { width, height } = triangleScene({ tensor: "", words, step, share, cell }, PALETTE, measure, 400);
    return [width, height];
  });
  assert.deepEqual(sizes[0], sizes[1]);
});

test("a long text has a triangle without words, within the page", () => {
  const words = Array.from({ length: 300 }, (_, place) => `word ${place}`);
  const of = { tensor: "", words, step: 299, share: () => 0.1, cell: () => [] };
  const scene = triangleScene(of, PALETTE, measure, 340);
  assert.ok(scene.width <= 340);
  assert.ok(scene.items.every((item) => !("text" in item)));
});

test("what was written has its last token, but no end, and no more than is read", () => {
  const settings = {
    ...({ method: "sample", beams: 1, length_penalty: 0, length_penalty_form: "gnmt" } as const),
    ...{ coverage_penalty: 0, temperature: 1, top_k: null, top_p: null, seed: 0 },
  };
  const node = (number: number, parent: number | null, token: number, over: boolean) => ({
    ...({ number, step: number, parent, token, finished: over, fate: over ? "answer" : "kept" } as const),
    ...{ log_probability: -1, total: -1, score: -1, penalty: 1, coverage: 0, rank: 1, hypothesis: 0 },
    ...{ share: 1, draw: [0.5, 0, 1] as const },
  });
  const record: SearchRecord = {
    ...{ format: 1, settings, text: "a", answer: "b", source: null, prompt: [3, 4], never: [], texts: {} },
    ...{ answers: [1], nodes: [node(0, null, 5, false), node(1, 0, 6, true)] },
  };
  const whole = (more: Partial<SearchRecord>): number[] => {
    const search = new Search({ ...record, ...more });
    const last = search.node(1);
    return last === undefined ? [] : search.readWhole(last);
  };
  assert.deepEqual(whole({}), [3, 4, 5, 6]);
  assert.deepEqual(whole({ ends: [6] }), [3, 4, 5]);
  assert.deepEqual(whole({ ends: [7], most: 3 }), [3, 4, 5]);
});
