// Builds the page into the package. `--check` compares instead with what is committed there; `--test` runs the tests.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const BUILT = "../glassformer/explorer/built";
// The page of issue 11 was to have 250 kB and 80 kB; all its parts together have more (decisions/2026-11-22-the-size-of-the-page.md).
const LIMITS = { minified: 620_000, gzipped: 225_000 };

const CONTAINED = ["preact", "@preact/signals", "@preact/signals-core"];
const NOTE =
  "/*! glassformer, Apache-2.0. Contains preact (c) 2015-present Jason Miller and @preact/signals (c) 2022-present Preact Team, both MIT. */";

const shared = {
  bundle: true,
  format: "esm",
  target: ["es2022"],
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
};

if (process.argv.includes("--test")) {
  const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
  const entryPoints = tests.map((name) => `test/${name}`);
  await build({ ...shared, entryPoints, outdir: "out", outExtension: { ".js": ".mjs" }, platform: "node" });
  const files = tests.map((name) => `out/${name.replace(".ts", ".mjs")}`);
  process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1);
}

const entryPoints = { explorer: "src/main.tsx" };
const made = await build({
  ...shared,
  entryPoints,
  outdir: BUILT,
  minify: true,
  legalComments: "none",
  banner: { js: NOTE },
  write: false,
});
const style = await build({
  entryPoints: { explorer: "src/theme.css" },
  outdir: BUILT,
  bundle: true,
  minify: true,
  write: false,
});
const files = new Map([
  ["explorer.js", made.outputFiles[0].text],
  ["explorer.css", style.outputFiles[0].text],
]);

const together = [...files.values()].join("");
const licences = CONTAINED.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`);
files.set("LICENSES.txt", licences.join("\n\n"));
const sizes = { minified: Buffer.byteLength(together), gzipped: gzipSync(together, { level: 9 }).length };
for (const [kind, limit] of Object.entries(LIMITS)) {
  console.error(`${kind}: ${sizes[kind].toLocaleString("en")} of ${limit.toLocaleString("en")} bytes`);
  if (sizes[kind] > limit) process.exitCode = 1;
}

mkdirSync(BUILT, { recursive: true });
for (const [name, text] of files) {
  if (!process.argv.includes("--check")) {
    writeFileSync(`${BUILT}/${name}`, text);
  } else if (readFileSync(`${BUILT}/${name}`, "utf8") !== text) {
    console.error(`glassformer/explorer/built/${name} is not what web/ builds to: run make web`);
    process.exitCode = 1;
  }
}
