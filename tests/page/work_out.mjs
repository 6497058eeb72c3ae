// Works out the numbers of pages with the built page's own interpreter: node work_out.mjs FOLDER ...
// Each folder has a page.html and a cells.json, [[name, cell], ...]. Prints for each the explanations of these cells and
// the largest error of every tensor when the whole run is worked out from its words and weights: the share of the largest
// number of the tensor, at least of 1; or what went wrong.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { axisNames, cellAt, explainCell, readTensors, recompute, withDerived } from "../../glassformer/page/built/explorer.js";

function blockOf(html, id) {
  const found = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
  const data = gunzipSync(Buffer.from(found[1], "base64"));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const finite = (value) => (Number.isFinite(value) ? value : String(value));

function workOut(folder) {
  const html = readFileSync(`${folder}/page.html`, "utf8");
  const asked = JSON.parse(readFileSync(`${folder}/cells.json`, "utf8"));
  const run = JSON.parse(new TextDecoder().decode(blockOf(html, "record")));
  const tensors = withDerived(new Map([...readTensors(blockOf(html, "tensors")), ...readTensors(blockOf(html, "weights"))]), run);
  const fetch = (name) => tensors.get(name);
  const formulas = new Map(run.formulas.map((formula) => [formula.name, formula]));

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
  return { sampled, errors };
}

const answers = process.argv.slice(2).map((folder) => {
  try {
    return workOut(folder);
  } catch (error) {
    return { wrong: String(error?.stack ?? error) };
  }
});
console.log(JSON.stringify(answers));
