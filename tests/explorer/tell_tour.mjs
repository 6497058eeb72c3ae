// Tells a tour of pages with the built page's own code: node tell_tour.mjs TOUR PAGE ...
// Prints for each page its steps: what is said, where it leads, every number of the run in it; and why steps are left out.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readTensors, Store, scoutOf, stepsOf, TOURS, told } from "../../glassformer/explorer/built/explorer.js";

function blockOf(html, id) {
  const found = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
  const data = gunzipSync(Buffer.from(found[1], "base64"));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const finite = (value) => (Number.isFinite(value) ? value : String(value));
const aloud = (parts) => parts.map((part) => (typeof part === "string" ? part : part.text)).join("");

async function tell(tour, path) {
  const html = readFileSync(path, "utf8");
  const run = JSON.parse(new TextDecoder().decode(blockOf(html, "record")));
  const tensors = new Map([...readTensors(blockOf(html, "tensors")), ...readTensors(blockOf(html, "weights"))]);
  const store = new Store({ run, tensor: async (name) => tensors.get(name), explain: async () => null });
  await store.open(tensors.keys());
  const texts = JSON.parse(new TextDecoder().decode(blockOf(html, "tour")))[tour.name];
  const steps = stepsOf(store, tour);
  const sentences = Math.max(run.words.inputs.length, run.words.decoder_inputs.length, 1);
  const rows = [];
  for (let sentence = 0; sentence < sentences; sentence++) {
    const scout = scoutOf(store, sentence, tour.stack);
    for (const step of steps) {
      const found = told(step, texts[step.key], scout);
      const parts = [...found.text, ...found.question, ...found.answer, ...found.note];
      const numbers = parts.filter((part) => typeof part !== "string" && "name" in part);
      rows.push({
        key: step.key,
        sentence,
        title: texts[step.key].title,
        source: texts[step.key].source ?? null,
        text: aloud(found.text),
        question: aloud(found.question),
        answer: aloud(found.answer),
        note: aloud(found.note),
        at: found.at,
        numbers: numbers.map(({ name, cell, value, text }) => ({ name, cell, value: finite(value), text })),
      });
    }
  }
  const left = tour.steps.filter((step) => !steps.includes(step)).map((step) => [step.key, texts[step.key].lacks ?? ""]);
  return { rows, left };
}

const answers = [];
const [name, ...pages] = process.argv.slice(2);
const chosen = TOURS.find((tour) => tour.name === name);
for (const page of pages) answers.push(await tell(chosen, page));
console.log(JSON.stringify(answers));
