// What page and server have to agree on, from addresses.json: as TypeScript for the page, as Python for the server.
import { readFileSync } from "node:fs";

const WIDTH = 120;

const TYPESCRIPT = {
  head: "/** How the page asks a server for parts of a run. Made from `addresses.json` by `make web`: change it there. */",
  indent: "  ",
  list: (each) => `[${each.join(", ")}]`,
  brackets: ["[", "]"],
  key: (name) => name,
  begin: (name) => `export const ${name} = `,
  end: (value) => (typeof value === "object" ? " as const;" : ";"),
  constant: (is, text) => `\n/** ${is} */\n${text}\n`,
};

const PYTHON = {
  head: '"""How a page asks for parts of a run. Made from `web/addresses.json` by `make web`: change it there."""',
  indent: "    ",
  list: (each) => (each.length === 1 ? `(${each[0]},)` : `(${each.join(", ")})`),
  brackets: ["(", ")"],
  key: (name) => JSON.stringify(name),
  begin: (name, value) => `${name}${isTable(value) ? ": dict[str, tuple[str, ...]]" : ""} = `,
  end: () => "",
  constant: (is, text) => `\n${text}\n"""${is}"""\n`,
};

/** The text of each file that is made, by its path; `folder` is that of the page in the package. */
export function generated(folder) {
  const constants = Object.entries(JSON.parse(readFileSync("addresses.json", "utf8")));
  return new Map([
    ["src/sources/addresses.ts", textIn(TYPESCRIPT, constants)],
    [`${folder}/server/addresses.py`, textIn(PYTHON, constants)],
  ]);
}

function textIn(language, constants) {
  const lines = constants.map(([name, { is, value }]) => {
    const [begin, end] = [language.begin(name, value), language.end(value)];
    return language.constant(is, begin + written(value, language, WIDTH - begin.length - end.length) + end);
  });
  return `${language.head}\n${lines.join("")}`;
}

/** A value as the formatters of both languages write it: a list in one line where it fits. */
function written(value, language, room) {
  const { indent, brackets, key } = language;
  const inLine = (each) => (Array.isArray(each) ? language.list(each.map(inLine)) : JSON.stringify(each));
  if (isTable(value)) {
    const rows = Object.entries(value).map(([name, each]) => `${indent}${key(name)}: ${inLine(each)},\n`);
    return `{\n${rows.join("")}}`;
  }
  // Lists of lists stand below each other in TypeScript, whatever room there is.
  const nested = language === TYPESCRIPT && Array.isArray(value) && value.some(Array.isArray);
  if (!nested && inLine(value).length <= room) return inLine(value);
  return `${brackets[0]}\n${value.map((each) => `${indent}${inLine(each)},\n`).join("")}${brackets[1]}`;
}

function isTable(value) {
  return typeof value === "object" && !Array.isArray(value);
}
