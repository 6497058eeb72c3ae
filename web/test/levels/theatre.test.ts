/** A text as it is written: its line, its branches, the draw end to end, the rivals, and the curves of the picture. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { beside } from "../../src/levels/tree/branches_view.tsx";
import { groupsOf, linesOf } from "../../src/levels/tree/stage.tsx";
import { asksIn, type Branch, optionsOf, rowsOf, withBranch } from "../../src/levels/tree/written/branches.ts";
import {
  curve,
  lineOf,
  nodesAt,
  partsOf,
  rivalsAt,
  shared,
  strongest,
  targetIn,
} from "../../src/levels/tree/written/line.ts";
import { begun, isCold, withOption } from "../../src/levels/tree/written/options.ts";
import { type Fate, type Node, Search, type SearchRecord } from "../../src/levels/tree/written/search.ts";

function node(
  number: number,
  step: number,
  parent: number | null,
  token: number,
  fate: Fate,
  more: Partial<Node> = {},
): Node {
  const before = { log_probability: -0.5, total: -1 - number / 8, score: -1, penalty: 2, coverage: 0, rank: 1 };
  return {
    number,
    step,
    parent,
    token,
    fate,
    finished: token === 1,
    share: null,
    draw: null,
    hypothesis: 0,
    ...before,
    ...more,
  };
}

function searchOf(nodes: readonly Node[], more: Partial<SearchRecord> = {}): Search {
  return new Search({
    format: 1,
    settings: {
      ...{ method: "sample", beams: 1, length_penalty: 1, length_penalty_form: "gnmt", coverage_penalty: 0 },
      ...{ temperature: 1, top_k: null, top_p: null, seed: 0 },
    },
    ...{ text: "Dogs.", answer: "", source: null, prompt: [0, 3], never: [0], texts: {}, ends: [1], most: 9 },
    answers: [],
    nodes,
    ...more,
  });
}

const DRAWN = { share: 0.5, draw: [0.4, 0.25, 0.75] as const, start: 0.25 };
/** After 0, 3: 5 is drawn, then 6, then the end. */
const STORY = searchOf(
  [
    node(0, 0, null, 5, "kept", DRAWN),
    node(1, 0, null, 7, "undrawn", { share: 0.25, start: 0.75 }),
    node(2, 0, null, 4, "undrawn", { share: 0.125, start: 0 }),
    node(3, 0, null, 8, "cut", { share: 0, start: 1 }),
    node(4, 1, 0, 6, "kept", DRAWN),
    node(5, 2, 4, 1, "answer", DRAWN),
  ],
  { answers: [5] },
);

test("the line is what the run has read and what the search wrote behind it, an end left out", () => {
  const none = { target: null, begun: 0, answer: 0, live: false };
  assert.deepEqual(lineOf(STORY, { read: [0, 3], ...none }), {
    ...{ ids: [0, 3, 5, 6], covered: 2, given: 2, kept: 2, end: "ended" },
  });
  // A run that has read something else shows that; what the address wants goes before both.
  assert.deepEqual(lineOf(STORY, { read: [0, 3, 7], ...none }).ids, [0, 3, 7]);
  assert.equal(lineOf(STORY, { read: [0, 3, 7], ...none }).end, "open");
  // Where its run can be made, what the search wrote is shown.
  assert.deepEqual(lineOf(STORY, { read: [0, 3, 7], ...none, live: true }).ids, [0, 3, 5, 6]);
  assert.deepEqual(lineOf(STORY, { read: [0, 4], ...none, live: true }).ids, [0, 4]);
  const wanted = lineOf(STORY, { read: [0, 3], ...none, target: [0, 3, 7, 9] });
  assert.deepEqual([wanted.ids, wanted.covered], [[0, 3, 7, 9], 2]);
  // Without a server or a search there is the run; until it is read, nothing.
  assert.deepEqual(lineOf(null, { read: [0, 3], ...none }).given, 1);
  assert.deepEqual(lineOf(null, { read: null, ...none }).ids, []);
  // What was kept when it was rewritten was not given by the reader.
  const rewritten = searchOf([node(0, 0, null, 6, "answer", DRAWN)], { prompt: [0, 3, 5], answers: [0] });
  const line = lineOf(rewritten, { read: [0, 3], ...none, begun: 1 });
  assert.deepEqual([line.given, line.kept, line.ids, line.end], [2, 3, [0, 3, 5, 6], "cut"]);
});

test("what was looked at in a step comes from the search that made it, of this text alone", () => {
  const rewritten = searchOf([node(0, 0, null, 9, "answer", DRAWN)], { prompt: [0, 3, 7], answers: [0] });
  const ids = [0, 3, 7, 9];
  assert.equal(nodesAt([rewritten, STORY], 2, ids)?.search, rewritten);
  const before = nodesAt([rewritten, STORY], 1, ids);
  assert.equal(before?.search, STORY);
  assert.deepEqual(
    before?.nodes.map(({ token }) => token),
    [5, 7, 4, 8],
  );
  assert.equal(nodesAt([rewritten, STORY], 0, ids), null);
});

test("the parts of a draw lie end to end, those that were left out are none", () => {
  const parts = partsOf(nodesAt([STORY], 1, [0, 3, 5])?.nodes ?? []);
  assert.deepEqual(
    parts.map(({ node: { token }, from, size }) => [token, from, size]),
    [
      [4, 0, 0.125],
      [5, 0.25, 0.5],
      [7, 0.75, 0.25],
    ],
  );
});

test("the rivals of a step are what the beam holds, the best total first", () => {
  const nodes = [
    node(0, 0, null, 5, "kept", { total: -2 }),
    node(1, 0, null, 6, "kept", { total: -1 }),
    node(2, 0, null, 7, "below", { total: -3 }),
    node(3, 1, 1, 1, "answer", { total: -1.5 }),
  ];
  const search = searchOf(nodes);
  assert.deepEqual(
    rivalsAt(search, 1).map(({ number }) => number),
    [1, 0],
  );
  assert.deepEqual(
    rivalsAt(search, 2).map(({ number }) => number),
    [3],
  );
  assert.deepEqual(rivalsAt(search, 0), []);
});

test("a branch is kept once, and hangs from the one that it has most in common with", () => {
  const of = "a text";
  const branch = (...ids: number[]): Branch => ({ of, ids, search: STORY, options: ["seed=3"] });
  const made = [branch(0, 3, 5, 6), branch(0, 3, 5, 7), branch(0, 3, 5, 7, 8, 9), branch(0, 3, 5, 6)];
  const all = made.reduce<readonly Branch[]>(withBranch, [{ ...branch(0, 3), of: "another" }]);
  const rows = rowsOf(all, of);
  assert.deepEqual(
    rows.map(({ from, depth }) => [from, depth]),
    [
      [0, 0],
      [3, 1],
      [4, 2],
    ],
  );
  assert.equal(beside(rows, [0, 3, 5, 7], 1), rows[2]);
  assert.equal(beside(rows, [0, 3, 5, 6], -1), undefined);
  const view = ["head=2", "seed=9", "begins=4.5"];
  assert.deepEqual(asksIn(view), ["seed=9", "begins=4.5"]);
  assert.deepEqual(optionsOf(made[0] as Branch, view), ["head=2", "seed=3"]);
});

test("the address holds what a text begins with, its target, and that nothing is drawn", () => {
  assert.deepEqual(begun(withOption("begins", "12.0.7", ["seed=1"])), [12, 0, 7]);
  assert.deepEqual([begun(["begins=x"]), begun([])], [[], []]);
  assert.deepEqual(
    [isCold(["temperature=0"]), isCold(["temperature=0.0"]), isCold(["temperature=1"]), isCold([])],
    [...[true, true, false, false]],
  );
  assert.deepEqual(targetIn("text,0,Dogs;target,1,0 5 6", 1), [0, 5, 6]);
  assert.equal(targetIn("text,0,Dogs", 0), null);
});

test("the strongest lines hold most of the weight, and a curve begins and ends at its words", () => {
  assert.deepEqual(strongest([0.05, 0.5, 0.01, 0.4]), [1, 3]);
  assert.deepEqual(strongest([0.01, 0.01]), []);
  assert.equal(strongest(Array(40).fill(1 / 30)).length, 10);
  assert.equal(shared([1, 2, 3], [1, 2, 4, 5]), 2);
  const [one, two] = [
    { x: 0, y: 0, w: 20, h: 30 },
    { x: 100, y: 64, w: 20, h: 30 },
  ];
  const ends = (d: string): number[][] => {
    const numbers = (d.match(/-?[\d.]+/g) ?? []).map(Number);
    return [numbers.slice(0, 2), numbers.slice(-2)];
  };
  // In one row below both words, else from the upper edge of the lower one to the lower edge of the upper one.
  assert.deepEqual(ends(curve(one, { ...one, x: 60 }, 64)), [
    [10, 30],
    [70, 30],
  ]);
  assert.deepEqual(ends(curve(two, one, 64)), [
    [110, 64],
    [10, 30],
  ]);
});

test("tokens of a word stand together, marks and turns by themselves", () => {
  const words = ["<s>", "As", "▁A", "li", "ens", ",", "\\n", "▁Hi", "</s>"];
  assert.deepEqual(linesOf(words), [
    [0, 1, 2, 3, 4, 5, 6],
    [7, 8],
  ]);
  assert.deepEqual(groupsOf(words, [...words.keys()]), [[0], [1], [2, 3, 4, 5, 6], [7], [8]]);
  // A vocabulary without blanks says nothing of words; one without spaces between them must break somewhere.
  assert.deepEqual(groupsOf(["he", "##llo"], [0, 1]), [[0], [1]]);
  const long = ["▁a", ...Array<string>(20).fill("b")];
  assert.ok(groupsOf(long, [...long.keys()]).every((group) => group.length <= 8));
});
