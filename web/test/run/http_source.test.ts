import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Dots, numberAt, Part } from "../../src/numbers/dots.ts";
import { FORMAT, type Formula } from "../../src/record/record.ts";
import { Store } from "../../src/run/store.ts";
import { HttpSource } from "../../src/sources/http_source.ts";
import { RefusedError } from "../../src/sources/refused.ts";

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
  return Response.json({
    format: FORMAT,
    run: KEY,
    asked: START,
    words,
    formulas: [FORMULA],
    weights: {},
    honesty: null,
    ...more,
  });
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
    options.signal?.throwIfAborted();
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

test("a small run comes whole, in one request; its honesty gate is measured after it is shown", async () => {
  answers.push([`api/runs/${KEY}/numbers`, () => file("scaled", [1, 2])]);
  answers.push([`api/runs/${KEY}/honesty`, () => Response.json({ holds: true })]);
  answers.push(["api/runs", () => overview({ whole: true, whole_weights: true })]);
  const source = await HttpSource.open();
  const store = new Store(source);
  assert.equal(store.honesty.value, null);
  const checking = store.check();
  assert.match(String(store.honesty.value), /being checked/);
  await checking;
  while (typeof store.honesty.value === "string") await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(store.honesty.value, { holds: true });
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

test("a refusal keeps its sentence", async () => {
  answers.push([`api/runs/${KEY}/tensor`, () => refused(413)]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false, shapes: { scaled: [200, 200] } })]);
  const source = await HttpSource.open();
  await assert.rejects(source.part("scaled", ""), (error) => error instanceof RefusedError && error.wanted === "gone");
});

test("a table 192 wide can be had whole, which a step of the tour multiplies", async () => {
  answers.push([`api/runs/${KEY}/tensor`, () => file("numbers", [7, 8])]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false, shapes: { table: [192, 192] } })]);
  const source = await HttpSource.open();
  assert.deepEqual([...((await source.tensor("table"))?.data ?? [])], [7, 8]);
});

test("of a tensor that is too large there are pictures and parts, and no digit is read from a picture", async () => {
  const shape = [200, 200];
  answers.push([`api/runs/${KEY}/pictures`, () => file("scaled", [0, 1, 128, 255], { scaled: "2.5" })]);
  answers.push([`api/runs/${KEY}/tensor`, () => file("numbers", [7, 8])]);
  answers.push([`api/runs/${KEY}/explain`, () => Response.json(EXPLAINED)]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false, shapes: { scaled: shape } })]);
  const source = await HttpSource.open();
  const count = asked.length;
  assert.equal(await source.tensor("scaled"), undefined);
  assert.equal(asked.length, count);
  const store = new Store(source);
  assert.deepEqual(store.shape("scaled"), shape);
  await store.draw(["scaled", "scaled"]);
  const drawn = store.drawn("scaled");
  assert.ok(drawn instanceof Dots);
  assert.throws(() => drawn.data, /no digits/);
  assert.equal(store.fetch("scaled"), undefined);
  assert.deepEqual([...drawn.table.slice(126, 131)].map(Math.sign), [-1, -1, 0, 1, 1]);
  assert.deepEqual([drawn.table[1], drawn.table[255]], [-2.5, 2.5]);
  assert.equal(asked.filter((each) => each.includes("/pictures")).length, 1);
  assert.match(asked.at(-1) ?? "", /names=scaled&rows=128&columns=192/);
  const part = await source.large?.window("scaled", [3, 5], [4, 7]);
  assert.match(asked.at(-1) ?? "", /part=3%3A4%2C5%3A7/);
  assert.ok(part instanceof Part);
  const answer = await store.answer("scaled", [3, 5]);
  assert.equal(answer.kind === "computed" ? answer.found.value : null, -Infinity);
  assert.equal((await store.answer("scaled", [3, 200])).kind, "missing");
});

test("a part is read where it lies, and what is stored once is read once", () => {
  const part = new Part([3, 9, 9], { shape: [1, 2, 3], data: [1, 2, 3, 4, 5, 6] }, [0, 4, 6]);
  assert.equal(part.value([2, 5, 7]), 5);
  assert.equal(numberAt(part, [0, 4, 6]), 1);
  assert.throws(() => part.value([0, 6, 8]));
});

test("a dot stands for all numbers that were put together in it", () => {
  const dots = new Dots([2, 4, 6], { shape: [1, 2, 3], data: Uint8Array.of(1, 128, 255, 0, 128, 200) }, 3);
  assert.equal(dots.value([1, 1, 1]), -3);
  assert.equal(dots.value([0, 1, 5]), 3);
  assert.ok(Number.isNaN(dots.value([0, 3, 0])));
});

test("what is asked for no longer is given up", async () => {
  answers.push([`api/runs/${KEY}/explain`, () => Response.json(EXPLAINED)]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false, shapes: { scaled: [200, 200] } })]);
  const source = await HttpSource.open();
  const store = new Store(source);
  const giveUp = new AbortController();
  giveUp.abort();
  await assert.rejects(
    store.answer("scaled", [0, 0], giveUp.signal),
    (error) => (error as Error).name === "AbortError",
  );
});

test("the dots of a large run's heads are shares again, and its statistics have their names", async () => {
  const [dots, statistics] = [new Uint8Array([0, 1, 128, 255]), new Float32Array([2.5, 0.75])];
  const entry = (dtype: string, shape: number[], from: number, to: number): object => ({
    dtype,
    shape,
    data_offsets: [from, to],
  });
  const name = "encoder.blocks.0.self_attention";
  const told = { [`${name}.lowest`]: "0.0001", [`${name}.highest`]: "1.0", statistics: "entropy,first" };
  const header = new TextEncoder().encode(
    JSON.stringify({
      __metadata__: told,
      [`${name}.thumbnails`]: entry("U8", [1, 2, 2], 0, 4),
      [`${name}.statistics`]: entry("F32", [1, 2], 4, 12),
    }).padEnd(512),
  );
  const length = new BigUint64Array([BigInt(header.length)]);
  answers.push([`api/runs/${KEY}/heads`, () => new Response(new Blob([length, header, dots, statistics]))]);
  answers.push(["api/runs", () => overview({ whole: false, whole_weights: false })]);
  const source = await HttpSource.open();
  const count = asked.length;
  const all = [source.heads(name, 1, 28), source.heads("encoder.blocks.1.self_attention", 1, 28)];
  const [found] = await Promise.all([
    all[0],
    assert.rejects(all[1] ?? Promise.resolve(), /no heads of encoder.blocks.1/),
  ]);
  // What is asked for at once is one question.
  assert.deepEqual(asked.slice(count), [
    `GET api/runs/${KEY}/heads?attention=${name}%2Cencoder.blocks.1.self_attention&sentence=1&dots=28`,
  ]);
  assert.deepEqual([found?.measured[0]?.entropy, found?.measured[0]?.first], [2.5, 0.75]);
  const shares = Array.from(found?.thumbnails.data ?? []);
  for (const [place, share] of [0, 1e-4, 0.01, 1].entries()) {
    assert.ok(Math.abs((shares[place] ?? NaN) / Math.max(share, 1e-9) - (share === 0 ? 0 : 1)) < 0.02, `${shares}`);
  }
});
