// The words of the page: which sentences are marked in the sources, and the table of each language.
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import * as ast from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const HERE = dirname(fileURLToPath(import.meta.url));
/** A place for a value; names in braces are places of a text of the tours. */
const PLACE = /\{\d\}/g;
const TABLES = `${HERE}/words`;

/** The sentences that the sources mark: those of `say`, and the nouns of `counted` as `one|many`. */
export function marked() {
  const api = new API({ cwd: HERE });
  try {
    const [project] = api.updateSnapshot({ openProjects: [`${HERE}/tsconfig.json`] }).getProjects();
    const { program } = project;
    const keys = new Set();
    for (const name of program.getSourceFileNames()) {
      if (!name.startsWith(`${HERE}/src/`) || name.includes("/src/words/")) continue;
      collect(program.getSourceFile(name), keys);
    }
    return keys;
  } finally {
    api.close();
  }
}

function collect(node, keys) {
  if (ast.isTaggedTemplateExpression(node) && node.tag.text === "say") keys.add(keyOf(node.template));
  if (ast.isCallExpression(node) && node.expression.text === "counted") {
    const [, one, many] = node.arguments;
    if (one !== undefined && ast.isStringLiteral(one)) keys.add(`${one.text}|${many?.text ?? `${one.text}s`}`);
  }
  node.forEachChild((child) => {
    collect(child, keys);
  });
}

/** `Head {0} of {1}`: a template with the places of its values numbered. */
function keyOf(template) {
  if (template.templateSpans === undefined) return template.text;
  return template.templateSpans.reduce((text, { literal }, at) => `${text}{${at}}${literal.text}`, template.head.text);
}

/** As `hashed` of src/words/language.ts: both have to agree. */
export function hashed(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The sentences that the package sends: `python -m manual page-words` writes them. */
export function ofPackage() {
  return JSON.parse(readFileSync(`${TABLES}/package.json`, "utf8"));
}

/** What a chunk has of a table: translations by hashed keys, and expressions for what the package sends with parts in it. */
export function packed(table) {
  const sentences = {};
  for (const [key, text] of Object.entries(table)) {
    const hash = hashed(key.replace(PLACE, "{}"));
    if (hash in sentences) throw new Error(`two sentences have the same hash, change one: ${key}`);
    sentences[hash] = text;
  }
  const parted = ofPackage().filter((key) => key.search(PLACE) >= 0 && key in table);
  const patterns = parted.map((key) => [`^${key.split(PLACE).map(escaped).join("(.+?)")}$`, table[key]]);
  return { sentences, patterns };
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

export function tableOf(language) {
  return JSON.parse(readFileSync(`${TABLES}/${language}.json`, "utf8"));
}

/** The table of each language that has one. */
export function tablesOfAll() {
  const languages = readdirSync(TABLES).flatMap((name) => /^([a-z]{2})\.json$/.exec(name)?.[1] ?? []);
  return Object.fromEntries(languages.sort().map((language) => [language, tableOf(language)]));
}

/** The sentences of a home page and of a site in each language: they are put in where no script is. */
export function ofSite() {
  const keys = JSON.parse(readFileSync(`${TABLES}/site.json`, "utf8"));
  const tables = Object.entries(tablesOfAll());
  return Object.fromEntries(
    tables.map(([name, table]) => [name, Object.fromEntries(keys.map((key) => [key, table[key]]))]),
  );
}

/** The chunk of each language, made by the options of the other chunks. */
export async function spoken(options, tables = tablesOfAll()) {
  const filled = {
    name: "filled",
    setup(made) {
      made.onLoad({ filter: /src.words.[a-z]{2}\.ts$/ }, ({ path }) => {
        const { sentences, patterns } = packed(tables[basename(path, ".ts")]);
        const text = readFileSync(path, "utf8")
          .replace("sentences: {}", `sentences: ${JSON.stringify(sentences)}`)
          .replace("patterns: []", `patterns: ${JSON.stringify(patterns)}`);
        return { contents: text, loader: "ts" };
      });
    },
  };
  const entryPoints = Object.keys(tables).map((name) => `src/words/${name}.ts`);
  const { outputFiles } = await build({
    ...options,
    inject: [],
    entryPoints,
    entryNames: "[name]-[hash]",
    plugins: [filled],
  });
  return outputFiles;
}

/** Has the page import the chunks of its languages by the names that these files have. */
export function named(files) {
  return {
    name: "named",
    setup(made) {
      made.onResolve({ filter: /^\.\/[a-z]{2}\.ts$/ }, ({ path }) => {
        const name = files.map((file) => basename(file.path)).find((each) => each.startsWith(`${path.slice(2, 4)}-`));
        return { path: `./${name}`, external: true };
      });
    },
  };
}

/** All that a language has to have words for. */
export function keysOfPage() {
  return [...new Set([...marked(), ...ofPackage()])];
}

/** What is wrong with a table: sentences that it lacks, has for nothing, or has with other places or blanks. */
export function faultsOf(table, keys) {
  const known = new Set(keys);
  const places = (text) => {
    const found = (text.match(/\{\w+\}/g) ?? []).map((place) => place.replace(/^\{(\d)\w\}$/, "{$1}"));
    return [...new Set(found)].sort().join();
  };
  return [
    ...keys.filter((key) => !(key in table)).map((key) => `no words for: ${key}`),
    ...Object.keys(table).flatMap((key) => {
      const text = table[key];
      if (!known.has(key)) return [`the page no longer says: ${key}`];
      if (places(key) !== places(text)) return [`other places than “${key}”: ${text}`];
      if (key.split("|").length !== text.split("|").length) return [`one and many, as “${key}”: ${text}`];
      return /^\s/.test(key) === /^\s/.test(text) && /\s$/.test(key) === /\s$/.test(text)
        ? []
        : [`other blanks than “${key}”: ${text}`];
    }),
  ];
}

/** A language of no country, from right to left: each word of the page in letters that English does not have. */
export function reversed() {
  const letters = "ابتثجحخدذرزسشصضطظعغفقكلمنه";
  const turned = (text) =>
    text.replace(
      /(\{\w+\})|([a-z])/gi,
      (_, place, letter) => place ?? letters[letter.toLowerCase().charCodeAt(0) - 97],
    );
  return Object.fromEntries(keysOfPage().map((key) => [key, turned(key)]));
}

// `node words.mjs de` says what the table of a language lacks; `reversed` writes the chunk of that language.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name = "de"] = process.argv.slice(2);
  if (name === "reversed") {
    const options = { bundle: true, format: "esm", minify: true, write: false, outdir: "out", charset: "utf8" };
    const [{ text }] = await spoken(options, { de: reversed() });
    console.log(text.replace(/direction:"ltr"/, 'direction:"rtl"'));
  } else {
    const faults = faultsOf(tableOf(name), keysOfPage());
    for (const fault of faults) console.error(fault);
    if (faults.length > 0) process.exitCode = 1;
  }
}
