import assert from "node:assert/strict";
import { test } from "node:test";
import { filled, joined, listed, type Said } from "../src/tour/said.ts";

const aloud = (parts: readonly Said[]): string =>
  parts.map((part) => (typeof part === "string" ? part : part.text)).join("");

test("a text takes in words, numbers and counts", () => {
  const word = { text: "likes", of: "hidden" };
  assert.equal(aloud(filled("{word} is one of {count} words.", { word, count: 1234 })), "likes is one of 1,234 words.");
  assert.equal(aloud(filled("{a}{b}", { a: joined(["x", "y"], " + "), b: "" })), "x + y");
});

test("a text that wants what a step does not give is refused", () => {
  assert.throws(() => filled("{word} is one of {count} words.", { word: "likes" }), /nothing to put for count/);
});

test("words in a row", () => {
  assert.deepEqual(
    [["a"], ["a", "b"], ["a", "b", "c"]].map((words) => aloud(listed(words))),
    ["a", "a and b", "a, b and c"],
  );
  assert.equal(aloud(listed(["a", "b", "c", "d"], 2)), "a, b and 2 more");
});
