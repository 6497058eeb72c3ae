// Works out a page's numbers with the built page's own interpreter: node work_out.mjs PAGE CELLS
// CELLS is JSON: {"sampled": [[name, cell], ...], "every": bool}. Prints the explanations of the sampled cells and, of
// every tensor, its largest error cell by cell and the largest error of the whole run from its words and weights.
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

const sampled = asked.sampled.map(([name, cell]) => {
  const { value, recomputed, error, terms, quantities } = explainCell(formulas.get(name), cell, fetch, run);
  return {
    value: finite(value),
    recomputed: finite(recomputed),
    error,
    quantities,
    terms: terms.map((term) => ({
      what: term.what,
      value: finite(term.value),
      factors: term.factors.map(({ name, index, value }) => ({ name, index, value: finite(value) })),
    })),
  };
});

const errors = {};
if (asked.every) {
  const whole = recompute(run, fetch);
  for (const [name, formula] of formulas) {
    const { shape, data } = tensors.get(name);
    let [cell, chained] = [0, 0];
    for (let flat = 0; flat < data.length; flat++) {
      const found = explainCell(formula, cellAt(axisNames(formula.axes), shape, flat), fetch, run);
      cell = Math.max(cell, found.error);
      const difference = data[flat] === whole.get(name).data[flat] ? 0 : Math.abs(data[flat] - whole.get(name).data[flat]);
      const size = found.terms.reduce((sum, term) => sum + Math.abs(term.value), 1);
      chained = Math.max(chained, difference / size);
    }
    errors[name] = { cell, chained };
  }
}
console.log(JSON.stringify({ sampled, errors }));
