import assert from "node:assert/strict";
import { test } from "node:test";
import type { Change } from "../../src/edit/changes/changes.ts";
import { Server } from "../../src/edit/session/server.ts";
import type { RunRecord } from "../../src/record/record.ts";
import type { HttpSource } from "../../src/sources/http_source.ts";

const ATTENTION = "encoder.blocks.0.self_attention";
const [SCORES, WEIGHT, LOGITS] = [`${ATTENTION}.scores`, "encoder.embed.words", "head.logits"];
const run = {
  formulas: [
    { name: SCORES, axes: "sentence head query key" },
    { name: WEIGHT, axes: "vocabulary channel" },
    { name: LOGITS, axes: "place vocabulary" },
  ],
  places: [
    [0, 1],
    [1, 1],
    [1, 2],
    [2, 1],
  ],
} as unknown as RunRecord;
const first = { offers: [], run: { asked: { model: "m", texts: ["one", "two", "three"] } } } as unknown as HttpSource;
const server = new Server(first);
const empty = (row: number): Change => ({ kind: "text", which: "text", row, text: "" });

test("a text has the row that it had before others were left out, one more the row after all", () => {
  const rows = [0, 1, 2].map((row) => server.row("", "text", [empty(0)], row));
  assert.deepEqual(rows, [1, 2, 3]);
  const more: Change = { kind: "text", which: "text", row: 3, text: "four" };
  assert.deepEqual(
    [0, 1, 2, 3].map((row) => server.row("", "text", [empty(1), more], row)),
    [0, 2, 3, 4],
  );
  assert.deepEqual(
    [0, 1].map((row) => server.row("", "choice", [empty(0)], row)),
    [0, 1],
  );
});

test("what was changed in a text stays in it when another one is left out, and goes with its own", () => {
  const forbid: Change = { kind: "forbid", attention: ATTENTION, sentence: 1, head: null, query: 0, key: 0 };
  const set: Change = { kind: "replace", where: SCORES, by: 0, cell: [2, 0, 0, 0] };
  const weight: Change = { kind: "replace", where: WEIGHT, by: 0, cell: [2, 0] };
  const all: Change = { kind: "replace", where: SCORES, by: 0, cell: [null, 1] };
  const before = [forbid, set, weight, all];
  assert.deepEqual(server.shifted("", before, [...before, empty(0)], run), [
    { ...forbid, sentence: 0 },
    { ...set, cell: [1, 0, 0, 0] },
    weight,
    all,
    empty(0),
  ]);
  assert.deepEqual(server.shifted("", before, [...before, empty(1)], run), [
    { ...set, cell: [1, 0, 0, 0] },
    weight,
    all,
    empty(1),
  ]);
  const target: Change = { kind: "text", which: "target", row: 1, text: "7 8" };
  assert.deepEqual(server.shifted("", [target], [target, empty(0)], run), [{ ...target, row: 0 }, empty(0)]);
  // Of the places 0 of text 0, 1 and 2 of text 1, and 3 of text 2.
  const placed = [0, 2, 3].map((place): Change => ({ kind: "replace", where: LOGITS, by: 0, cell: [place, 5] }));
  const left = server.shifted("", placed, [...placed, empty(0)], run).slice(0, -1);
  assert.deepEqual(
    left,
    [1, 2].map((place) => ({ kind: "replace", where: LOGITS, by: 0, cell: [place, 5] })),
  );
  assert.deepEqual(server.shifted("", [{ ...forbid, sentence: 0 }, empty(0)], [{ ...forbid, sentence: 0 }], run), [
    forbid,
  ]);
  assert.equal(server.shifted("", before, before, run), before);
});

test("a candidate that is left out takes its sentence with it", () => {
  const asked = { model: "m", texts: ["one"], choices: ["a", "b", "c"] };
  const choosing = new Server({ offers: [], run: { asked } } as unknown as HttpSource);
  const forbid: Change = { kind: "forbid", attention: ATTENTION, sentence: 1, head: null, query: 0, key: 0 };
  const gone: Change = { kind: "text", which: "choice", row: 0, text: "" };
  assert.deepEqual(choosing.shifted("", [forbid], [forbid, gone], run), [{ ...forbid, sentence: 0 }, gone]);
});
