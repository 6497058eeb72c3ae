// The numbers that pages have, as they read them: node every_number.mjs PAGE ... Prints for each page the sha256 of each
// tensor as float64, and which of them are worked out from their formulas.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readTensors, withDerived } from "../../glassformer/page/built/explorer.js";

function numbersOf(path) {
  const html = readFileSync(path, "utf8");
  const blockOf = (id) => {
    const [, text] = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
    const data = gunzipSync(Buffer.from(text, "base64"));
    return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  };
  const run = JSON.parse(new TextDecoder().decode(blockOf("record")));
  const weights = [...readTensors(blockOf("weights"))].filter(([name]) => !(name in run.rows));
  const digests = {};
  for (const [name, { data }] of withDerived(new Map([...readTensors(blockOf("tensors")), ...weights]), run)) {
    digests[name] = createHash("sha256").update(new Uint8Array(Float64Array.from(data).buffer)).digest("hex");
  }
  return { digests, derived: Object.keys(run.unsure), left_out: run.left_out };
}

console.log(JSON.stringify(process.argv.slice(2).map(numbersOf)));
