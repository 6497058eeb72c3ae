import assert from "node:assert/strict";
import { test } from "node:test";
import { axisNames, indexOf, namedSizes } from "../../src/record/axes.ts";

test("the axes of an operand", () => {
  assert.deepEqual(axisNames("sentence head/2 key channel"), ["sentence", "head", "key", "channel"]);
  assert.deepEqual(axisNames("(head:2 channel) input"), ["head", "channel", "input"]);
  assert.deepEqual(axisNames("<place> input"), ["place", "input"]);
  assert.deepEqual(axisNames(""), []);
});

test("a cell of a formula reads the element that holds its number", () => {
  const weight = { name: "w", axes: "(head:2 channel) input" };
  assert.deepEqual(indexOf(weight, [8, 6], { head: 1, channel: 2, input: 5 }, null), [6, 5]);
  const shared = { name: "k", axes: "sentence head/2 key channel" };
  assert.deepEqual(indexOf(shared, [1, 2, 5, 4], { sentence: 3, head: 3, key: 4, channel: 0 }, null), [0, 1, 4, 0]);
  const places = { name: "x", axes: "<place> input" };
  assert.deepEqual(indexOf(places, [3, 5, 6], { place: 1, input: 2 }, [1, 8]), [1, 3, 2]);
  assert.throws(() => indexOf(places, [3, 5, 6], { place: 1 }, [1, 8]), /input/);
});

test("how long each named axis is", () => {
  const sizes = namedSizes({ name: "w", axes: "(head:2 channel) input" }, [8, 6], 0);
  assert.deepEqual(
    [...sizes],
    [
      ["head", 2],
      ["channel", 4],
      ["input", 6],
    ],
  );
});
