import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { HttpSource, RefusedError } from "../src/run/http_source.ts";
import { FORMAT, type Formula } from "../src/run/record.ts";

const FORMULA = { name: "scaled", axes: "query key", rule: { rule: "scale" } } as unknown as Formula;
const KEY = "0".repeat(32);
const START = { model: "m", texts: ["a b"] };

/** What a server would answer, by the beginning of an address; what was asked for, in its order. */
let answers: [begin: string, answer: () => Response][];
let asked: string[];

/** One tensor as a safetensors file. */
function file(name: string, values: number[], metadata: Record<string, string> = {}): Response {
  const data = new Float32Array(values);
  const entry = { dtype: "F32", shape: [values.length], data_offsets: [0, data.byteLength] };
  const header = new TextEncoder().encode(JSON.stringify({ __metadata__: metadata, [name]: entry }).padEnd(256));
  const length = new BigUint64Array([BigInt(header.length)]);
  return new Response(new Blob([length, header, data]));
}

function overview(more: object): Response {
  const words = { inputs: [["a", "b"]], decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] };
  return Response.json({ format: FORMAT, run: KEY, asked: START, words, formulas: [FORMULA], honesty: null, ...more });
}

function refused(status: number): Response {
  const told = { text: "gone; ask for it again", wanted: "gone", got: "", do: "ask for it again" };
  return Response.json({ error: told }, { status });
}

beforeEach(() => {
  asked = [];
  answers = [
    ["api/models/m/vocabulary", () => Response.json(["a", "b"])],
    ["api/models", () => Response.json({ models: [{ name: "m", ...START }], start: START })],
  ];
  globalThis.fetch = (async (path: string, options: RequestInit = {}) => {
    asked.push(`${options.method ?? "GET"} ${path}`);
    const found = answers.find(([begin]) => path.startsWith(begin));
    return found === undefined ? refused(404) : found[1]();
  }) as typeof fetch;
});

test("a large run is told without its numbers, and explained by the server", async () => {
  answers.push([`api/runs/${KEY}/explain`, () => Response.json(EXPLAINED)]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false })]);
  const source = await HttpSource.open();
  assert.deepEqual(source.run.words.vocabulary, ["a", "b"]);
  assert.equal(source.run.honesty, null);
  assert.deepEqual(asked, ["GET api/models", "POST api/runs", "GET api/models/m/vocabulary"]);
  const found = await source.explain(FORMULA, { query: 1, key: 0 });
  assert.equal(asked.at(-1), `GET api/runs/${KEY}/explain?name=scaled&cell=1%2C0`);
  assert.equal(found.value, -Infinity);
  assert.deepEqual(found.terms, [
    { what: "x", factors: [{ name: null, index: [], value: 0.5 }], value: 2, added: true },
  ]);
  assert.deepEqual("left" in found ? found.left : null, { count: 7, sum: 0.25 });
});

const EXPLAINED = {
  value: "-Infinity",
  terms: [{ what: "x", factors: [[null, [], 0.5]], value: 2, added: true, running: 2 }],
  quantities: { sum: "NaN" },
  recomputed: "-Infinity",
  difference: 0,
  error: 0,
  left: { count: 7, sum: 0.25 },
};

test("a small run comes whole, in one request, with its honesty", async () => {
  answers.push([`api/runs/${KEY}/numbers`, () => file("scaled", [1, 2])]);
  answers.push([`api/runs/${KEY}/honesty`, () => Response.json({ holds: true })]);
  answers.push(["api/runs", () => overview({ whole: true, whole_weights: true })]);
  const source = await HttpSource.open();
  assert.deepEqual(source.run.honesty, { holds: true });
  const count = asked.length;
  const tensor = await source.tensor("scaled");
  assert.deepEqual([...((tensor?.data ?? []) as Float32Array)], [1, 2]);
  assert.equal(await source.tensor("nothing"), undefined);
  assert.equal(asked.length, count);
});

test("a run that the server has forgotten is run again", async () => {
  let gone = true;
  answers.push([`api/runs/${KEY}/tensor`, () => (gone ? refused(404) : file("numbers", [3]))]);
  answers.push([
    "api/runs",
    () => {
      if (asked.length > 3) gone = false;
      return overview({ whole: false, whole_weights: false });
    },
  ]);
  const source = await HttpSource.open();
  assert.deepEqual([...((await source.part("scaled", "0")).data as Float32Array)], [3]);
  assert.deepEqual(
    asked.slice(3).map((each) => each.split("?")[0]),
    [`GET api/runs/${KEY}/tensor`, "POST api/runs", `GET api/runs/${KEY}/tensor`],
  );
});

test("a refusal keeps its sentence; a tensor that is too large is not to be had whole", async () => {
  answers.push([`api/runs/${KEY}/picture`, () => file("picture", [1], { lowest: "-2.5", highest: "inf" })]);
  answers.push([`api/runs/${KEY}/tensor`, () => refused(413)]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false })]);
  const source = await HttpSource.open();
  assert.equal(await source.tensor("scaled"), undefined);
  await assert.rejects(source.part("scaled", ""), (error) => error instanceof RefusedError && error.wanted === "gone");
  assert.equal((await source.picture("scaled", "", { rows: 1, columns: 1 })).lowest, -2.5);
});

test("the dots of a large run's heads are shares again, and its statistics have their names", async () => {
  const [dots, statistics] = [new Uint8Array([0, 1, 128, 255]), new Float32Array([2.5, 0.75])];
  const entry = (dtype: string, shape: number[], from: number, to: number): object => ({
    dtype,
    shape,
    data_offsets: [from, to],
  });
  const told = { lowest: "0.0001", highest: "1.0", statistics: "entropy,first" };
  const header = new TextEncoder().encode(
    JSON.stringify({
      __metadata__: told,
      thumbnails: entry("U8", [1, 2, 2], 0, 4),
      statistics: entry("F32", [1, 2], 4, 12),
    }).padEnd(512),
  );
  const length = new BigUint64Array([BigInt(header.length)]);
  answers.push([`api/runs/${KEY}/heads`, () => new Response(new Blob([length, header, dots, statistics]))]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false })]);
  const source = await HttpSource.open();
  const found = await source.heads("encoder.blocks.0.self_attention", 1, 28);
  assert.match(asked.at(-1) ?? "", /heads\?attention=encoder.blocks.0.self_attention&sentence=1&dots=28$/);
  assert.deepEqual([found?.measured[0]?.entropy, found?.measured[0]?.first], [2.5, 0.75]);
  const shares = Array.from(found?.thumbnails.data ?? []);
  for (const [place, share] of [0, 1e-4, 0.01, 1].entries()) {
    assert.ok(Math.abs((shares[place] ?? NaN) / Math.max(share, 1e-9) - (share === 0 ? 0 : 1)) < 0.02, `${shares}`);
  }
});
