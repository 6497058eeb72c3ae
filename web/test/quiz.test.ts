import assert from "node:assert/strict";
import { test } from "node:test";
import { optionsOf, partsOf, sheetIn, wrongIn } from "../src/quiz/sheet.ts";

test("a sheet is the same after it was in an address", () => {
  const options = ["1c", "2a", "10d", "checked", "was4"];
  assert.deepEqual(optionsOf(sheetIn(options)), options);
  assert.deepEqual(optionsOf(sheetIn([])), []);
  // What is no answer is left out; of two answers to a question the last one counts.
  assert.deepEqual(optionsOf(sheetIn(["0a", "2e", "x", "was", "3b", "3c"])), ["3c"]);
});

test("what was not answered is wrong", () => {
  assert.deepEqual(wrongIn(sheetIn(["1a", "3b"]), ["a", "b", "c"]), [2, 3]);
  assert.deepEqual(wrongIn(sheetIn(["1a", "2b", "3c"]), ["a", "b", "c"]), []);
});

test("words between asterisks are apart", () => {
  assert.deepEqual(partsOf("from *likes* to *better*."), ["from ", "likes", " to ", "better", "."]);
  assert.deepEqual(partsOf("5 * 3"), ["5 * 3"]);
});
