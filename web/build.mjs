// Builds the page into the package. `--check` compares instead with what is committed there; `--test [NAME.test.ts ...]` runs
// the tests of these names, or all.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { generated } from "./addresses.mjs";
import { withArrows } from "./arrows.mjs";
import { faultsOf, keysOfPage, named, ofSite, spoken, tablesOfAll } from "./words.mjs";

/** Where the package has the page: the one place that names it. */
const PAGE = "../glassformer/page";
const BUILT = `${PAGE}/built`;
// What a served page begins with, script and style, is what issue 11 allows; the rest comes in chunks. An exported page has
// the same files as parts, but for those that no view of its run needs (glassformer/page/parts.py).
const LIMITS = {
  core: { minified: 250_000, gzipped: 80_000 },
  chunk: { minified: 100_000, gzipped: 36_000 },
  // All words of the page, of the tours and the quiz in another language: fetched when it is chosen, and then kept.
  language: { minified: 220_000, gzipped: 80_000 },
  page: { minified: 600_000, gzipped: 236_000 },
};

const CONTAINED = ["preact", "@preact/signals", "@preact/signals-core"];
const NOTE =
  "/*! glassformer, Apache-2.0. Contains preact (c) 2015-present Jason Miller and @preact/signals (c) 2022-present Preact Team, both MIT. */";

const check = process.argv.includes("--check");
for (const [path, text] of generated(PAGE)) {
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  if (check) fail(`${path} is not what addresses.json makes: run make web`);
  else writeFileSync(path, text);
}

const shared = {
  bundle: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  // `$element("p", null, a, b)` takes fewer bytes than what TypeScript checks, `jsx("p", { children: [a, b] })`.
  jsx: "transform",
  jsxFactory: "$element",
  jsxFragment: "$Fragment",
  inject: ["preact.mjs"],
  // A module is strict without saying so, and TypeScript's `strict` would have each say it.
  tsconfigRaw: { compilerOptions: { alwaysStrict: false, useDefineForClassFields: true } },
  logLevel: "warning",
};

if (process.argv.includes("--test")) {
  const asked = process.argv.slice(process.argv.indexOf("--test") + 1);
  const tests = readdirSync("test", { recursive: true }).filter((name) => {
    return name.endsWith(".test.ts") && (asked.length === 0 || asked.includes(name));
  });
  const absent = asked.filter((name) => !tests.includes(name));
  if (absent.length > 0) {
    console.error(`there is no test ${absent.join(", ")} in web/test`);
    process.exit(1);
  }
  const entryPoints = tests.map((name) => `test/${name}`);
  await build({
    ...shared,
    entryPoints,
    outbase: "test",
    outdir: "out",
    outExtension: { ".js": ".mjs" },
    platform: "node",
  });
  const files = tests.map((name) => `out/${name.replace(".ts", ".mjs")}`);
  process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1);
}

const minified = { ...shared, minify: true, legalComments: "none", write: false };
// For exported pages and notebooks: one file.
const whole = await build({
  ...minified,
  entryPoints: { explorer: "src/whole.ts" },
  outdir: BUILT,
  banner: { js: NOTE },
  external: ["./de.ts"],
});
// The words of each other language: a chunk without anything of the page, which a browser may keep.
const languages = await spoken({ ...minified, outdir: `${BUILT}/script` });
// For a server: a core, and chunks that it fetches. A chunk is called by what is in it: browsers may keep it.
const served = await build({
  ...minified,
  define: shortened(),
  inject: [...shared.inject, "globals.mjs"],
  entryPoints: { core: "src/main.tsx" },
  outdir: `${BUILT}/script`,
  splitting: true,
  chunkNames: "[name]-[hash]",
  plugins: [{ name: "on-the-core", setup: onTheCore }, named(languages)],
});
// For the home page of a server, which says its words in a language, and for pages that show a view of a site.
const home = await build({
  ...minified,
  inject: [],
  entryPoints: { home: "src/home/home.ts" },
  outdir: `${BUILT}/script`,
  plugins: [named(languages)],
});
const small = await build({
  ...minified,
  inject: [],
  format: "iife",
  entryPoints: { embed: "src/home/embed.ts" },
  outdir: BUILT,
});
const styles = await build({
  entryPoints: {
    explorer: "src/styles/whole.css",
    tree: "src/styles/tree.css",
    training: "src/levels/training/training.css",
    learning: "src/levels/learn/learn.css",
    "script/core": "src/styles/core.css",
    "script/chunks": "src/styles/chunks.css",
    "script/home": "src/styles/home.css",
  },
  outdir: BUILT,
  bundle: true,
  minify: true,
  write: false,
});
const files = new Map();
for (const { path, text } of [
  ...whole.outputFiles,
  ...styles.outputFiles,
  ...home.outputFiles,
  ...small.outputFiles,
  ...languages,
  ...withItsCore(served.outputFiles),
]) {
  files.set(relative(BUILT, path), text);
}

// What each has of the styles, and what it lacks of the script: tests/page/test_parts.py measures pages.
const PAGES = {
  "page of an encoder": [
    [],
    "live asked served tree learning trained chains texts_view padding sections writing decoder translation encodings",
  ],
  "page of the slides' model": [
    ["training", "learning"],
    "live asked served tree trained chains sections writing decoder translation turned",
  ],
  "page of a decoder": [
    ["tree"],
    "live asked served learning trained chains texts_view padding masked sections bert translation turned",
  ],
  "page of a translation": [
    ["tree"],
    "live asked served learning trained chains texts_view padding masked sections bert turned",
  ],
};
for (const [what, [styles, without]] of Object.entries(PAGES)) {
  const own = ["explorer", ...styles].map((name) => `${name}.css`);
  measure(what, [...own, ...carried(without.split(" "))], LIMITS.page);
}
const begins = [...files.keys()].filter((name) => /^script\/(core\.|live-)/.test(name));
measure("core", begins, LIMITS.core);
for (const name of files.keys()) {
  const limits = /^script\/[a-z]{2}-/.test(name) ? LIMITS.language : LIMITS.chunk;
  if (/^script\//.test(name) && !begins.includes(name)) measure(name, [name], limits, true);
}

if (check) {
  const keys = keysOfPage();
  for (const [language, table] of Object.entries(tablesOfAll())) {
    for (const fault of faultsOf(table, keys)) fail(`web/words/${language}.json: ${fault}`);
  }
}

files.set("words.json", JSON.stringify(ofSite()));

const licences = CONTAINED.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`);
files.set("LICENSES.txt", licences.join("\n\n"));

const there = existsSync(BUILT) ? readdirSync(BUILT, { recursive: true, withFileTypes: true }) : [];
const known = there
  .filter((entry) => entry.isFile())
  .map((entry) => relative(BUILT, `${entry.parentPath}/${entry.name}`));
if (check) {
  const wrong = [...files].filter(
    ([name, text]) => !known.includes(name) || readFileSync(`${BUILT}/${name}`, "utf8") !== text,
  );
  for (const name of [...wrong.map(([name]) => name), ...known.filter((name) => !files.has(name))]) {
    fail(`${BUILT}/${name} is not what web/ builds to: run make web`);
  }
} else {
  for (const name of known) if (!files.has(name)) rmSync(`${BUILT}/${name}`);
  for (const [name, text] of files) {
    mkdirSync(dirname(`${BUILT}/${name}`), { recursive: true });
    writeFileSync(`${BUILT}/${name}`, text);
  }
}

/** The files of the script that a page needs which lacks some chunks: see `glassformer/page/parts.py`. */
function carried(without) {
  const found = ["core.js"];
  for (const name of found) {
    for (const [, other] of files.get(`script/${name}`).matchAll(/"\.\/([\w.-]+\.js)"/g)) {
      if (!found.includes(other) && !/^[a-z]{2}-/.test(other) && !without.includes(other.split("-")[0]))
        found.push(other);
    }
  }
  return found.map((name) => `script/${name}`);
}

/** What `globals.mjs` names, by the names that it gives them. */
function shortened() {
  const rows = readFileSync("globals.mjs", "utf8").matchAll(/^export const \{(.*)\} = (\w+);$/gm);
  return Object.fromEntries(
    [...rows].flatMap(([, names, from]) =>
      [...names.matchAll(/(\w+): (\$\w+)/g)].map(([, own, short]) => [
        from === "globalThis" ? own : `${from}.${own}`,
        short,
      ]),
    ),
  );
}

/** Says what is wrong; the others are still looked at. */
function fail(text) {
  console.error(text);
  process.exitCode = 1;
}

/** Prints what files have together (`isShort`: only beyond a limit), and fails beyond a limit. */
function measure(what, names, limits, isShort = false) {
  const together = names.map((name) => files.get(name)).join("");
  const sizes = { minified: Buffer.byteLength(together), gzipped: gzipSync(together, { level: 9 }).length };
  const told = Object.entries(limits).map(([kind, limit]) => {
    if (sizes[kind] > limit) process.exitCode = 1;
    isShort &&= sizes[kind] <= limit;
    return `${sizes[kind].toLocaleString("en")} of ${limit.toLocaleString("en")} bytes ${kind}`;
  });
  if (!isShort) console.error(`${what}: ${told.join(", ")}`);
}

/**
 * Has each module that is imported later import the core: esbuild then puts what the core reads into one file, not into one
 * for each of them that reads it too.
 */
function onTheCore(made) {
  const later = new Set();
  made.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
    if (kind === "dynamic-import") later.add(resolve(resolveDir, path));
    return undefined;
  });
  made.onLoad({ filter: /src.*\.tsx?$/ }, ({ path }) => {
    const core = later.has(path) ? `\nimport ${JSON.stringify(resolve("src/main.tsx"))};\n` : "";
    const loader = extname(path).slice(1);
    return { contents: withArrows(readFileSync(path, "utf8"), loader) + core, loader };
  });
}

/** That file, which an entry of one line imports, in the place of the entry. */
function withItsCore(outputs) {
  const entry = outputs.find(({ path }) => path.endsWith("/core.js"));
  const [, own] = /^import\s*"\.\/(chunk-\w+\.js)";$/m.exec(entry.text.trim()) ?? [];
  if (own === undefined)
    throw new Error(`the core should be one file that core.js imports, not: ${entry.text.slice(0, 300)}`);
  return outputs
    .filter((output) => output !== entry)
    .map(({ path, text }) => ({
      path: path.replace(own, "core.js"),
      text: text.replaceAll(`"./${own}"`, '"./core.js"'),
    }))
    .map((file) => ({ ...file, text: withShortElements(file) }))
    .map((file) => (file.path.endsWith("/core.js") ? { ...file, text: `${NOTE}\n${file.text}` } : file));
}

/**
 * Elements as `$element` of preact.mjs takes them, in fewer bytes; and `==` where a text is compared with a word: TypeScript
 * allows no comparison in which the two signs would differ.
 */
function withShortElements({ path, text }) {
  const makers = new Set();
  const shorter =
    (to) =>
    (_, maker, ...found) => {
      makers.add(maker);
      return `${maker}(${to(...found)}`;
    };
  const short = text
    .replace(
      /\b([\w$]+)\("button",\{type:"button"(?:,|(?=\}))/g,
      shorter(() => '"button",{'),
    )
    .replace(
      /\b([\w$]+)\("([a-z]+\d?)",\{class:("[^"\\]*")\}(?=[,)])/g,
      shorter((tag, name) => `"${tag}",${name}`),
    )
    .replace(
      /\b([\w$]+)\("([a-z]+\d?)",null(?=[,)])/g,
      shorter((tag) => `"${tag}",0`),
    )
    .replace(/([!=])=="(?=[A-Za-z])/g, '$1="');
  if (makers.size > 1) throw new Error(`${path} makes elements by ${[...makers].join(", ")}, not by one function`);
  return short;
}
