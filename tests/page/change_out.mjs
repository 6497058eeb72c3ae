// Makes the changes of a page with the built page's own engine: node change_out.mjs PAGE CHANGES
// CHANGES is JSON, a list of what the address holds after `changes=`. Prints for each the sentences about what could not be
// done and every tensor: its shape and its numbers.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { engineOf, explainCell, parseChanges, readTensors, withDerived } from "../../glassformer/page/built/explorer.js";

const html = readFileSync(process.argv[2], "utf8");
const asked = JSON.parse(readFileSync(process.argv[3], "utf8"));

function block(id) {
  const found = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
  const data = gunzipSync(Buffer.from(found[1], "base64"));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const run = JSON.parse(new TextDecoder().decode(block("record")));
const tensors = withDerived(new Map([...readTensors(block("tensors")), ...readTensors(block("weights"))]), run);
const source = {
  run,
  tensor: async (name) => tensors.get(name),
  explain: async (formula, cell) => explainCell(formula, cell, (name) => tensors.get(name), run),
};
const finite = (value) => (Number.isFinite(value) ? value : String(value));

const engine = await engineOf(source);
const answers = [];
for (const text of asked) {
  const { changes, ignored } = parseChanges(text);
  const begun = performance.now();
  const made = await engine.make("", changes, new AbortController().signal);
  const ms = performance.now() - begun;
  const found = {};
  for (const { name } of made.source.run.formulas) {
    const tensor = await made.source.tensor(name);
    found[name] = { shape: tensor.shape, numbers: Array.from(tensor.data, finite) };
  }
  const { words, places } = made.source.run;
  answers.push({ refused: [...ignored, ...made.refused], tensors: found, ms, answers: words.answers, places });
}
console.log(JSON.stringify({ why: engine.why, words: engine.words, answers }));
