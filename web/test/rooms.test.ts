/**
 * The sources lie in rooms, from the bottom up in the order of `rooms.json`: a file imports from its own room and from
 * those below it. No circle of files, no folder with too many entries, no file with too many lines. Imports of types
 * and imports that are fetched later count like all others.
 */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { test } from "node:test";

const MOST_ENTRIES = 24;
const MOST_LINES = 350;

const ROOMS: readonly string[] = JSON.parse(readFileSync("rooms.json", "utf8")).map(
  ({ room }: { readonly room: string }) => room,
);

/** The text of each file by its path. */
type Files = ReadonlyMap<string, string>;

/** Behind `from`, `import` or `@import`, or in the brackets of a later import: the path of another file of the page. */
const IMPORT = /(?:\bfrom|\bimport|@import|\bimport\s*\()\s*["'](\.[^"']*)["']/g;
/** An import whose path is not written there. */
const UNKNOWN = /\bimport\s*\((?!\s*["'])|\bimport\s*\(\s*["'][^"']*["']\s*[^)\s,]/;

function filesIn(folder: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) found.set(path.slice(folder.length + 1), readFileSync(path, "utf8"));
  }
  return found;
}

/** What each file imports. */
function importsOf(files: Files): Map<string, string[]> {
  return new Map(
    [...files].map(([path, text]) => {
      return [path, [...text.matchAll(IMPORT)].map(([, to = ""]) => join(dirname(path), to))];
    }),
  );
}

/** The room of a file: the folder nearest to it that is one; `.` holds only what lies in no folder. */
function roomOf(path: string, rooms: readonly string[]): string | null {
  if (dirname(path) === ".") return rooms.includes(".") ? "." : null;
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    if (rooms.includes(folder)) return folder;
  }
  return null;
}

/** Files that import each other, directly or not, each group once. */
function circlesIn(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const reached = new Map<string, Set<string>>();
  for (const path of imports.keys()) {
    const [seen, next] = [new Set<string>(), [path]];
    for (let from = next.pop(); from !== undefined; from = next.pop()) {
      for (const to of imports.get(from) ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        next.push(to);
      }
    }
    reached.set(path, seen);
  }
  const circles = new Map<string, string[]>();
  for (const [path, seen] of reached) {
    if (!seen.has(path)) continue;
    const circle = [...seen].filter((to) => reached.get(to)?.has(path) === true).sort();
    circles.set(circle.join(), circle);
  }
  return [...circles.values()];
}

function entriesOf(files: Files): Map<string, number> {
  const found = new Map<string, Set<string>>();
  for (const path of files.keys()) {
    for (let at = path; at !== "."; at = dirname(at)) {
      const folder = dirname(at);
      found.set(folder, (found.get(folder) ?? new Set()).add(at));
    }
  }
  return new Map([...found].map(([folder, entries]) => [folder, entries.size]));
}

/** What is wrong with files and their imports, a line each. */
function wrongIn(files: Files, rooms: readonly string[]): string[] {
  const imports = importsOf(files);
  const wrong: string[] = [];
  for (const circle of circlesIn(imports)) wrong.push(`circle: ${circle.join(" ")}`);
  for (const [path, to] of imports) {
    const room = roomOf(path, rooms);
    if (room === null) wrong.push(`no room: ${path}`);
    if (UNKNOWN.test(files.get(path) ?? "")) wrong.push(`path unknown: ${path}`);
    for (const each of to) {
      const other = roomOf(each, rooms);
      if (!files.has(each)) wrong.push(`not there: ${path} ${each}`);
      else if (room !== null && other !== null && rooms.indexOf(other) > rooms.indexOf(room)) {
        wrong.push(`up: ${path} ${each}`);
      }
    }
  }
  const held = new Set([...files.keys()].map((path) => roomOf(path, rooms)));
  for (const room of rooms) if (!held.has(room)) wrong.push(`empty: ${room}`);
  return [...wrong, ...tooLarge(files)];
}

function tooLarge(files: Files): string[] {
  const wrong: string[] = [];
  for (const [folder, count] of entriesOf(files)) if (count > MOST_ENTRIES) wrong.push(`entries: ${folder} ${count}`);
  for (const [path, text] of files) {
    const lines = text.split("\n").length - 1;
    if (lines > MOST_LINES) wrong.push(`lines: ${path} ${lines}`);
  }
  return wrong;
}

test("imports lead down the order of rooms, and no folder or file is too large", () => {
  const files = filesIn("src");
  assert.ok(files.size > 200 && [...importsOf(files).values()].flat().length > 1000);
  assert.deepEqual(wrongIn(files, ROOMS), []);
  const tests = [...filesIn("test")].filter(([path]) => !path.startsWith("golden/"));
  assert.deepEqual(tooLarge(new Map(tests)), []);
});

test("an import from a room above is noticed in the sources, of whatever kind it is", () => {
  const lines = [
    'import { App } from "../frame/app.tsx";',
    'import type { App } from "../frame/app.tsx";',
    'export * from "../frame/app.tsx";',
    'import "../frame/app.tsx";',
    'const app = () => import("../frame/app.tsx");',
    'type App = import("../frame/app.tsx").App;',
    'import {\n  App,\n  type Page,\n} from "../frame/app.tsx";',
  ];
  for (const line of lines) {
    const files = filesIn("src");
    files.set("numbers/written.ts", `${files.get("numbers/written.ts")}\n${line}\n`);
    const wrong = wrongIn(files, ROOMS);
    assert.ok(wrong.includes("up: numbers/written.ts frame/app.tsx"), line);
    // What the page is made of reads numbers: the import closes a circle too.
    assert.ok(
      wrong.some((each) => each.startsWith("circle: ") && each.includes(" numbers/written.ts")),
      line,
    );
  }
});

test("each kind of fault is noticed, and alone", () => {
  const rooms = ["low", "low/inner", "high", "."];
  const files = {
    "low/a.ts": "",
    "low/inner/b.ts": 'import "../a.ts";\n',
    "high/c.ts": 'import "../low/inner/b.ts";\n',
    "main.ts": 'import { c } from "./high/c.ts";\n',
  };
  const wrong = (changed: Readonly<Record<string, string>>, of = rooms): string[] => {
    return wrongIn(new Map(Object.entries({ ...files, ...changed })), of);
  };
  assert.deepEqual(wrong({}), []);
  // A circle within a room breaks no order.
  const circle = { "low/a.ts": 'import type { D } from "./d.ts";\n', "low/d.ts": 'import("./a.ts");\n' };
  assert.deepEqual(wrong(circle), ["circle: low/a.ts low/d.ts"]);
  assert.deepEqual(wrong({ "low/a.ts": 'import "./a.ts";\n' }), ["circle: low/a.ts"]);
  // An import upwards need not close a circle.
  assert.deepEqual(wrong({ "high/e.ts": "", "low/a.ts": 'import "../high/e.ts";\n' }), ["up: low/a.ts high/e.ts"]);
  assert.deepEqual(wrong({ "new/e.ts": "" }), ["no room: new/e.ts"]);
  assert.deepEqual(wrong({}, [...rooms, "gone"]), ["empty: gone"]);
  assert.deepEqual(wrong({ "low/a.ts": 'import "./gone.ts";\n' }), ["not there: low/a.ts low/gone.ts"]);
  assert.deepEqual(wrong({ "low/a.ts": "import(name);\n" }), ["path unknown: low/a.ts"]);
  assert.ok(wrong({ "low/a.ts": 'import("./" + name);\n' }).includes("path unknown: low/a.ts"));
  const full = Object.fromEntries(Array.from({ length: MOST_ENTRIES }, (_, place) => [`high/${place}.ts`, ""]));
  assert.deepEqual(wrong(full), [`entries: high ${MOST_ENTRIES + 1}`]);
  assert.deepEqual(wrong({ "low/a.ts": "\n".repeat(MOST_LINES) }), []);
  assert.deepEqual(wrong({ "low/a.ts": "\n".repeat(MOST_LINES + 1) }), [`lines: low/a.ts ${MOST_LINES + 1}`]);
  assert.deepEqual(wrong({ "low/a.css": '@import "../high/c.ts";\n' }), ["up: low/a.css high/c.ts"]);
});
