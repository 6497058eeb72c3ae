/** No view draws numbers of its own: nothing random, and no list of numbers, in what draws the levels and the tour. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const FOLDERS = ["src/levels", "src/pictures", "src/tour"];

/** Three numbers and more in brackets; sizes that are given their names in the same line are no data. */
const LIST = /(?<!\] = )\[\s*[-−]?\d[\d._e]*(?:\s*,\s*[-−]?\d[\d._e]*){2,}\s*,?\s*\]/g;
const RANDOM = /Math\.random|getRandomValues|randomUUID/g;

export function dataIn(text: string): string[] {
  const bare = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return [...bare.matchAll(LIST), ...bare.matchAll(RANDOM)].map(([found]) => found);
}

test("what would be data is found", () => {
  assert.deepEqual(dataIn("const x = [0.1, -0.2, 3];"), ["[0.1, -0.2, 3]"]);
  assert.deepEqual(dataIn("draw([[1, 2, 3],\n [4, 5, 6]])"), ["[1, 2, 3]", "[4, 5, 6]"]);
  assert.deepEqual(dataIn("const at = Math.random();"), ["Math.random"]);
  assert.deepEqual(dataIn("const [LEFT, TOP, DIAL] = [88, 24, 44]; // [1, 2, 3]"), []);
});

test("no view has data of its own", () => {
  for (const folder of FOLDERS.filter(existsSync)) {
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      if (!/\.tsx?$/.test(name)) continue;
      assert.deepEqual(dataIn(readFileSync(`${folder}/${name}`, "utf8")), [], name);
    }
  }
});
