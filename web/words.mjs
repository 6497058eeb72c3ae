// The words of the page: which sentences are marked in the sources, and the table of each language.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as ast from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

const HERE = dirname(fileURLToPath(import.meta.url));
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

/** As `hashed` of src/words/say.ts: both have to agree. */
export function hashed(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** What a chunk has of a table: translations by hashed keys, and expressions for what the package sends with parts in it. */
export function packed(table) {
  const [sentences, patterns] = [{}, []];
  for (const [key, text] of Object.entries(table)) {
    const hash = hashed(key.replace(/\{\d\}/g, "{}"));
    if (hash in sentences) throw new Error(`two sentences have the same hash, change one: ${key}`);
    sentences[hash] = text;
  }
  return { sentences, patterns };
}

export function tableOf(language) {
  const path = `${TABLES}/${language}.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
}

/** Puts the table of a language into its chunk. */
export const languages = {
  name: "languages",
  setup(build) {
    build.onLoad({ filter: /src.words.de\.ts$/ }, ({ path }) => {
      const { sentences, patterns } = packed(tableOf("de"));
      const text = readFileSync(path, "utf8")
        .replace("sentences: {}", `sentences: ${JSON.stringify(sentences)}`)
        .replace("patterns: []", `patterns: ${JSON.stringify(patterns)}`);
      return { contents: text, loader: "ts" };
    });
  },
};

/** Has the page import the chunks of its languages by the names that these files have. */
export function named(files) {
  return {
    name: "named",
    setup(build) {
      build.onResolve({ filter: /^\.\/[a-z]{2}\.ts$/ }, ({ path }) => {
        const name = files.map((file) => basename(file.path)).find((each) => each.startsWith(`${path.slice(2, 4)}-`));
        return { path: `./${name}`, external: true };
      });
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const keys = marked();
  console.log(keys.size);
  writeFileSync("/tmp/w/german/keys.json", JSON.stringify([...keys], null, 1));
}
