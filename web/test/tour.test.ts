import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { aloud, listed, say } from "../src/tour/said.ts";

test("a sentence takes in words, numbers and counts", () => {
  const word = { text: "likes", of: "hidden" };
  assert.equal(aloud(say`${word} is one of ${1234} words.`), "likes is one of 1,234 words.");
  assert.equal(
    aloud(say`${listed(["a"])}; ${listed(["a", "b"])}; ${listed(["a", "b", "c"])}`),
    "a; a and b; a, b and c",
  );
  assert.equal(aloud(listed(["a", "b", "c", "d"], 2)), "a, b and 2 more");
});

/** The texts of a file: strings and templates, without what is put into them, comments left out. */
function textsIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "").replace(/^import.*$/gm, "");
  const found: string[] = [];
  const strings =
    /"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^{}`]|`(?:[^`$]|\$\{[^{}`]*\})*`|\{[^{}]*\})*\})*)`/g;
  for (const [, plain, template] of code.matchAll(strings)) {
    if (plain !== undefined) found.push(plain);
    if (template === undefined) continue;
    const inner = [...template.matchAll(/`([^`]*)`/g)].map((each) => each[1] ?? "");
    found.push(...[template, ...inner].map((text) => text.replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, "")));
  }
  return found;
}

test("no text of the tour has a digit of its own: numbers come from the run", () => {
  const allowed = /^C-\d+$|^Step /;
  let count = 0;
  for (const name of readdirSync("src/tour/steps")) {
    for (const text of textsIn(readFileSync(`src/tour/steps/${name}`, "utf8"))) {
      count += 1;
      assert.ok(allowed.test(text) || !/\d/.test(text), `${name}: ${text}`);
    }
  }
  assert.ok(count > 200, `only ${count} texts were found`);
});
