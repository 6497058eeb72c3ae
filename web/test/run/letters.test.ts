import assert from "node:assert/strict";
import { test } from "node:test";
import { cut } from "../../src/draw/box.ts";
import { shortened, written } from "../../src/numbers/letters.ts";
import { spelled } from "../../src/scenes/board/spelled.ts";

test("what draws nothing or turns what follows is called by its name", () => {
  assert.equal(written("a\u202eb"), "a<U+202E>b");
  assert.equal(written("\u0000\n"), "<U+0000><U+000A>");
  assert.equal(written("\ud800x\udc00"), "<U+D800>x<U+DC00>");
  assert.equal(written("\u2069\u200f"), "<U+2069><U+200F>");
  assert.equal(written("<img src=x onerror=alert(1)>"), "<img src=x onerror=alert(1)>");
});

test("ordinary words of any script stay as they are", () => {
  for (const word of ["likes", "我", "爱", "夏天", "été", "👩‍🚀", "हिन्दी", "ё", "##s", "[MASK]"])
    assert.equal(written(word), word);
});

test("a word from the right is kept to itself", () => {
  for (const word of ["שלום", "أحب", "می‌خواهم", "(שלום)"]) assert.equal(written(word), `\u2068${word}\u2069`);
});

test("a word is shortened between two letters and stays by itself", () => {
  assert.equal(shortened("👩👩👩", 2), "👩👩…");
  assert.equal(shortened(written("שלום"), 2), "\u2068של…\u2069");
  const measure = (text: string): number => [...text].length * 6;
  assert.equal(cut("👩👩👩👩", 18, measure), "👩👩…");
  assert.equal(cut("likes", 30, measure), "likes");
});

test("letters without a picture are written by their numbers", () => {
  const measure = (letter: string): number => ("⸻￡\u{10fffd}".includes(letter) ? 9 : 7);
  assert.equal(spelled("the", measure), "the");
  assert.equal(spelled("a⸻", measure), "aU+2E3B");
  assert.equal(spelled("“é”", measure), "“é”");
});
