// Works out a page's numbers with the built page's own interpreter: node work_out.mjs PAGE CELLS
// CELLS is JSON, [[name, cell], ...]. Prints the explanations of these cells and the largest error of every tensor when
// the whole run is worked out from its words and weights: the share of the largest number of the tensor, at least of 1.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { axisNames, cellAt, explainCell, readTensors, recompute } from "../../glassformer/explorer/built/explorer.js";

const html = readFileSync(process.argv[2], "utf8");
const asked = JSON.parse(readFileSync(process.argv[3], "utf8"));

function block(id) {
  const found = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
  const data = gunzipSync(Buffer.from(found[1], "base64"));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const run = JSON.parse(new TextDecoder().decode(block("record")));
const tensors = new Map([...readTensors(block("tensors")), ...readTensors(block("weights"))]);
const fetch = (name) => tensors.get(name);
const formulas = new Map(run.formulas.map((formula) => [formula.name, formula]));
const finite = (value) => (Number.isFinite(value) ? value : String(value));

const sampled = asked.map(([name, cell]) => {
  const { value, recomputed, error, terms, quantities } = explainCell(formulas.get(name), cell, fetch, run);
  return {
    value: finite(value),
    recomputed: finite(recomputed),
    error,
    quantities: Object.fromEntries(Object.entries(quantities).map(([name, value]) => [name, finite(value)])),
    terms: terms.map((term) => ({
      what: term.what,
      value: finite(term.value),
      factors: term.factors.map(({ name, index, value }) => ({ name, index, value: finite(value) })),
    })),
  };
});

const errors = {};
for (const [name, { data }] of recompute(run, fetch)) {
  const stored = tensors.get(name).data;
  let [error, scale] = [0, 1];
  for (let flat = 0; flat < data.length; flat++) {
    if (stored[flat] !== data[flat]) error = Math.max(error, Math.abs(stored[flat] - data[flat]));
    if (Number.isFinite(stored[flat])) scale = Math.max(scale, Math.abs(stored[flat]));
  }
  errors[name] = finite(error / scale);
}
console.log(JSON.stringify({ sampled, errors }));
