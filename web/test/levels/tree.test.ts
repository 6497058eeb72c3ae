/** The search: its columns, its ways, what keys lead to, and its picture. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Palette } from "../../src/draw/colour.ts";
import { parseChanges } from "../../src/edit/changes/changes.ts";
import { pythonOf } from "../../src/edit/changes/python.ts";
import { treeScene } from "../../src/levels/tree/tree_scene.ts";
import { type Fate, type Node, Search, type SearchRecord } from "../../src/levels/tree/written/search.ts";

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

function node(number: number, step: number, parent: number | null, token: number, total: number, fate: Fate): Node {
  const before = { log_probability: -0.5, score: total / 2, penalty: 2, coverage: 0, rank: 1, hypothesis: 0 };
  return { number, step, parent, token, total, fate, finished: token === 1, share: null, draw: null, ...before };
}

const NODES = [
  node(0, 0, null, 5, -1, "kept"),
  node(1, 0, null, 6, -2, "kept"),
  node(2, 0, null, 7, -3, "below"),
  node(3, 0, null, 8, -0.5, "forbidden"),
  node(4, 1, 1, 9, -2.5, "kept"),
  node(5, 1, 0, 1, -2.6, "answer"),
  node(6, 1, 0, 6, -4, "hopeless"),
  node(7, 2, 4, 1, -2.9, "answer"),
];
const RECORD: SearchRecord = {
  format: 1,
  settings: {
    ...{ method: "beam", beams: 2, length_penalty: 1, length_penalty_form: "gnmt", coverage_penalty: 0 },
    ...{ temperature: 1, top_k: null, top_p: null, seed: 0 },
  },
  text: "Dogs.",
  answer: "a word",
  source: [3, 4],
  prompt: [0],
  never: [0],
  texts: { 1: "</s>", 5: "le", 6: " un", 7: " \u05d3\u05d2", 8: " ", 9: " mot" },
  answers: [7, 5],
  nodes: NODES,
};

function nodeAt(search: Search, number: number): Node {
  const found = search.node(number);
  assert.ok(found);
  return found;
}

test("what went on stands above what did not, and the best way is found from its last node", () => {
  const search = new Search(RECORD);
  const numbers = search.columns.map((column) => column.map(({ number }) => number));
  assert.deepEqual(numbers, [[0, 1, 3, 2], [4, 5, 6], [7]]);
  assert.deepEqual([...search.best], [1, 4, 7]);
  assert.deepEqual(
    [...search.ranks],
    [
      [7, 1],
      [5, 2],
    ],
  );
  assert.deepEqual(search.readBefore(nodeAt(search, 4)), [0, 6]);
  assert.deepEqual(search.readWith(nodeAt(search, 4)), [0, 6, 9]);
  // An end is not read.
  assert.deepEqual(search.readWith(nodeAt(search, 7)), [0, 6, 9]);
  assert.equal(search.textUpTo(nodeAt(search, 7)), "un mot");
});

test("keys lead to the parent, the best child, and what stands above and below", () => {
  const search = new Search(RECORD);
  const led = (number: number, key: string): number | undefined => search.next(nodeAt(search, number), key)?.number;
  assert.deepEqual([led(4, "ArrowLeft"), led(0, "ArrowLeft")], [1, undefined]);
  // Behind the first word the best child is the answer, not the one that was given up.
  assert.deepEqual([led(0, "ArrowRight"), led(1, "ArrowRight"), led(7, "ArrowRight")], [5, 4, undefined]);
  assert.deepEqual([led(4, "ArrowDown"), led(4, "ArrowUp"), led(6, "ArrowUp")], [5, undefined, 5]);
  assert.deepEqual([led(6, "Home"), led(0, "End")], [0, 7]);
});

test("every node has a place, none lies over another, and the best way is told by width and weight", () => {
  const search = new Search(RECORD);
  const source = [
    { text: "Dogs", hidden: false },
    { text: ".", hidden: false },
  ];
  const { scene, spots } = treeScene(search, source, PALETTE, measure);
  assert.equal(spots.length, NODES.length);
  for (const one of spots) {
    assert.ok(one.x >= 0 && one.x + one.w <= scene.width && one.y + one.h <= scene.height);
    for (const two of spots) {
      const apart =
        one.x + one.w <= two.x || two.x + two.w <= one.x || one.y + one.h <= two.y || two.y + two.h <= one.y;
      assert.ok(one === two || apart, `${one.id} lies over ${two.id}`);
    }
  }
  const texts = scene.items.flatMap((item) => ("text" in item ? [item] : []));
  // Words from the right are kept to themselves; a blank can be seen; a sign says what was forbidden.
  assert.ok(texts.some(({ text }) => text === "\u2068\u05d3\u05d2\u2069"));
  assert.ok(texts.some(({ text }) => text === "⊘ ␣"));
  assert.ok(texts.some(({ text }) => text === "answer 1: −1.450"));
  assert.deepEqual(
    texts.filter(({ bold, size }) => bold && size === 14).map(({ text }) => text),
    ["un", "mot", "</s>"],
  );
  const lines = scene.items.flatMap((item) => ("d" in item ? [item] : []));
  assert.deepEqual(
    lines.map(({ line, dash }) => [line, dash]),
    [...Array(3).fill([1, 3]), ...Array(2).fill([1.5, undefined]), ...Array(3).fill([4, undefined])],
  );
  assert.ok(spots[0]?.label.includes("step 1: le, total −1"));
});

test("words of a source from the right stand from the right", () => {
  const search = new Search(RECORD);
  const source = ["\u2068\u05d0\u2069", "\u2068\u05d1\u05d1\u2069"].map((text) => ({ text, hidden: false }));
  const { scene } = treeScene(search, source, PALETTE, measure);
  const at = (text: string): number => {
    const found = scene.items.find((item) => "text" in item && item.text === text);
    return found !== undefined && "text" in found ? found.x : -1;
  };
  assert.ok(at("\u2068\u05d0\u2069") > at("\u2068\u05d1\u05d1\u2069"));
});

test("a search of another format, and one that found nothing", () => {
  assert.throws(() => new Search({ ...RECORD, format: 2 }), /format 1/);
  const empty = new Search({ ...RECORD, answers: [], nodes: [], source: null });
  assert.deepEqual(empty.columns, []);
  assert.equal(treeScene(empty, [], PALETTE, measure).spots.length, 0);
});

test("tokens of a target stand in the address and in Python", () => {
  assert.deepEqual(parseChanges("target,0,0 12 5").changes, [
    { kind: "text", which: "target", row: 0, text: "0 12 5" },
  ]);
  assert.equal(parseChanges("target,0,0 x").changes.length, 0);
  const none = { seconds: null, choices: null, steps: [], shown: null };
  const code = pythonOf({ loads: [], texts: ["Dogs."], targets: [[0, 12]], ...none });
  assert.ok(code.includes('model.trace("Dogs.", target_ids=[[0, 12]])'));
});
