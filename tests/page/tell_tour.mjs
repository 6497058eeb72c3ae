// Tells tours of pages with the built page's own code: node tell_tour.mjs TOURS
// TOURS is JSON, {tour: [page, ...], ...}. Prints for each page of each tour its title and its steps: what is said, where it
// leads, every number of the run in it; and why steps are left out. `python -m manual worksheets` uses it too.
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { readTensors, Store, scoutOf, stepsOf, TOURS, textsOf, told, withDerived } from "../../glassformer/page/built/explorer.js";

function blockOf(html, id) {
  const found = html.match(new RegExp(`<script type="application/gzip" id="${id}">([^<]*)</script>`));
  const data = gunzipSync(Buffer.from(found[1], "base64"));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const finite = (value) => (Number.isFinite(value) ? value : String(value));
const aloud = (parts) => parts.map((part) => (typeof part === "string" ? part : part.text)).join("");
// A word of the text stands between asterisks, a number of the run does not.
const marked = (part) => (typeof part === "string" || "name" in part ? part : `*${part.text}*`);

const opened = new Map();

function open(path) {
  if (!opened.has(path)) {
    const html = readFileSync(path, "utf8");
    const json = (id) => JSON.parse(new TextDecoder().decode(blockOf(html, id)));
    const run = json("record");
    const tensors = withDerived(new Map([...readTensors(blockOf(html, "tensors")), ...readTensors(blockOf(html, "weights"))]), run);
    opened.set(path, { run, texts: json("tour"), tensors });
  }
  return opened.get(path);
}

async function tell(tour, path) {
  const { run, tensors, texts: all } = open(path);
  const store = new Store({ run, tensor: async (name) => tensors.get(name), explain: async () => null });
  await store.open(tensors.keys());
  const texts = textsOf(all, tour);
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
        marked: Object.fromEntries(["text", "question", "answer", "note"].map((name) => [name, aloud(found[name].map(marked))])),
        at: found.at,
        numbers: numbers.map(({ name, cell, value, text }) => ({ name, cell, value: finite(value), text })),
      });
    }
  }
  const left = tour.steps.filter((step) => !steps.includes(step)).map((step) => [step.key, texts[step.key].lacks ?? ""]);
  return { title: tour.title, rows, left };
}

const answers = {};
for (const [name, pages] of Object.entries(JSON.parse(process.argv[2]))) {
  const chosen = TOURS.find((tour) => tour.name === name);
  answers[name] = [];
  for (const page of pages) answers[name].push(await tell(chosen, page));
}
console.log(JSON.stringify(answers));
