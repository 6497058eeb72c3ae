/** What leaves the page: pictures, numbers and names of files. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { pngOf } from "../src/draw/png.ts";
import { escaped, type Plate, svgOf } from "../src/draw/svg.ts";
import { Names } from "../src/formulas/names.ts";
import { cellsCsv, sheetCsv, word } from "../src/leave/csv.ts";
import { fileName } from "../src/leave/files.ts";
import { partsOf } from "../src/leave/whole.ts";
import { metadataOf, readTensors, type Tensor } from "../src/numbers/safetensors.ts";
import type { RunRecord } from "../src/record/record.ts";
import { dtypeOf, writeTensor } from "../src/record/write_safetensors.ts";

const EVIL = '<img src=x onerror="alert(1)">';
const NAME = "encoder.blocks.0.self_attention.weights";
const RUN: RunRecord = {
  ...{ format: 1, title: "tiny", model: { family: "slides", parameters: 0, stacks: [] } },
  ...{ precision: "float32", error_limit: 1e-5, scored_at: null, places: [] },
  words: {
    ...{
      inputs: [
        ["=1+1", "a"],
        ["b", "b"],
      ],
      decoder_inputs: [],
      vocabulary: [],
      labels: [],
    },
    ...{ candidates: [], answers: [] },
  },
  formulas: [
    {
      ...{ name: NAME, axes: "sentence head query key", rule: { rule: "softmax" }, tokens: "inputs", keys: "inputs" },
      ...{ unit: "encoder.blocks.0", title: "", extra: false, words: "", mathml: "" },
    },
  ],
  ...{ facts: {}, weights: {}, shared: {}, changes: "", honesty: null, left_out: {}, limit: 1e6 },
};
const names = new Names(RUN);
const WEIGHTS: Tensor = { shape: [2, 1, 2, 2], data: Float32Array.from([0.1, 0.9, 1, 0, 0.25, 0.75, -Infinity, NaN]) };

test("a text that looks like an element is written as letters, and what XML lacks as a mark", async () => {
  assert.equal(escaped(EVIL), "&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
  assert.equal(escaped("a\u0000b\ud800c\u{1f600}\ufffe"), "a\ufffdb\ufffdc\u{1f600}\ufffd");
  const plate: Plate = {
    ...{ width: 100, height: 50, paper: "#fff", sans: '"Segoe UI", x', title: EVIL },
    parts: [
      {
        ...{ x: 3, y: 4 },
        items: [
          { x: 1, y: 2, text: EVIL, fill: '"><script>', bold: true, align: "right" },
          { x: 1, y: 2, text: "up", fill: "red", turned: true },
          { x: 0.123456, y: 0, w: 1, h: 2, stroke: "#000", line: 1.5 },
          { points: [0, 0, 1.005, 2, 3, 4], fill: "blue" },
          { d: "M0 0L1 1", stroke: "green", line: 2, dash: 3 },
        ],
      },
    ],
  };
  const svg = await svgOf(plate);
  assert.ok(!svg.includes("<img") && !svg.includes("<script"));
  assert.deepEqual(svg.split("\n").slice(3), [
    '<rect width="100%" height="100%" fill="#fff"/>',
    '<g transform="translate(3 4)">',
    `<text x="1" y="2" font-size="12" font-weight="600" text-anchor="end" fill="&quot;&gt;&lt;script&gt;">${escaped(EVIL)}</text>`,
    '<text transform="translate(1 2) rotate(-90)" font-size="12" fill="red">up</text>',
    '<rect x="0.12" y="0" width="1" height="2" fill="none" stroke="#000" stroke-width="1.5"/>',
    '<polygon points="0 0 1 2 3 4" fill="blue"/>',
    '<path d="M0 0L1 1" fill="none" stroke="green" stroke-width="2" stroke-dasharray="3"/>',
    "</g>",
    "</svg>",
    "",
  ]);
});

test("an image of cells is a PNG file with the same dots", async () => {
  const pixels = Uint8ClampedArray.from({ length: 3 * 2 * 4 }, (_, place) => (place * 37) % 256);
  const bytes = Buffer.from(await pngOf(3, 2, pixels));
  assert.equal(bytes.subarray(0, 8).toString("latin1"), "\x89PNG\r\n\x1a\n");
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    chunks.set(bytes.toString("latin1", at + 4, at + 8), bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  assert.deepEqual([...chunks.keys()], ["IHDR", "IDAT", "IEND"]);
  assert.deepEqual([...(chunks.get("IHDR") ?? [])], [0, 0, 0, 3, 0, 0, 0, 2, 8, 6, 0, 0, 0]);
  const lines = inflateSync(chunks.get("IDAT") ?? Buffer.alloc(0));
  assert.deepEqual([...lines.subarray(1, 13)], [...pixels.subarray(0, 12)]);
  assert.deepEqual([...lines.subarray(14)], [...pixels.subarray(12)]);
  // The checksum of an empty IEND is printed in the standard.
  assert.equal(bytes.subarray(-4).toString("hex"), "ae426082");
});

test("no word of a text is a formula to a spreadsheet", () => {
  for (const begins of ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"]) assert.ok(word(begins).startsWith(`"'`), begins);
  assert.equal(word("a"), '"a"');
  assert.equal(word('say "no", ##s'), '"say ""no"", ##s"');
  assert.equal(word("a;=1"), `"a;'=1"`);
  assert.equal(word("a-b=c"), '"a-b=c"');
});

test("one sheet of a tensor has the words of its rows and columns", () => {
  const layout = { rows: "query", columns: "key" };
  assert.deepEqual(sheetCsv(NAME, WEIGHTS, layout, [0, 0, 1, 1], names).split("\r\n"), [
    '\ufeff"query \\ key","\'=1+1","a"',
    `"'=1+1",0.1,0.9`,
    '"a",1,0',
    "",
  ]);
  assert.deepEqual(sheetCsv(NAME, WEIGHTS, layout, [1, 0, 0, 0], names).split("\r\n"), [
    '\ufeff"query \\ key","b@0","b@1"',
    '"b@0",0.25,0.75',
    '"b@1",-inf,nan',
    "",
  ]);
  const turned = sheetCsv(NAME, WEIGHTS, { rows: "key", columns: "sentence" }, [0, 0, 0, 1], names).split("\r\n");
  assert.deepEqual(turned.slice(1), [`"'=1+1",0.1,0.25`, '"a",0.9,0.75', ""]);
});

test("every cell of a tensor is a row with its indices and words", () => {
  const lines = cellsCsv(NAME, WEIGHTS, names).split("\r\n");
  assert.equal(lines[0], '\ufeff"sentence","head","query index","query","key index","key","value"');
  assert.equal(lines[2], `0,0,0,"'=1+1",1,"a",0.9`);
  assert.equal(lines[7], '1,0,1,"b@1",0,"b@0",-inf');
  assert.equal(lines.length, 10);
  const large = { shape: [1 << 20, 1], data: new Float32Array(1) };
  assert.throws(() => cellsCsv("parameters.x", large, names), /1,048,576 rows/);
});

test("a tensor is written in the type of the run, bit for bit", async () => {
  const data = new Float32Array(new Uint32Array([0x7fc12345, 0x80000000, 0x3dcccccd]).buffer);
  const file = await writeTensor(NAME, { shape: [3], data }, "F32", { axes: "a, b", words: EVIL }).arrayBuffer();
  const found = readTensors(file).get(NAME);
  assert.deepEqual(found?.shape, [3]);
  assert.ok(found?.data instanceof Float32Array);
  assert.deepEqual(new Uint32Array(found.data.buffer), new Uint32Array(data.buffer));
  assert.deepEqual(metadataOf(file), { axes: "a, b", words: EVIL });
  assert.equal(Number(new DataView(file).getBigUint64(0, true)) % 8, 0);
  const float64 = { ...RUN, precision: "float64" as const };
  assert.equal(dtypeOf({ shape: [], data, dtype: "BF16" }, float64), "F64");
  assert.equal(dtypeOf({ shape: [], data, dtype: "I32" }, RUN), "I64");
  assert.equal(dtypeOf({ shape: [], data, dtype: "BOOL" }, RUN), "BOOL");
  const ids = await writeTensor("x", { shape: [2], data: [3, -4] }, "I64", {}).arrayBuffer();
  assert.deepEqual([...Array.from(readTensors(ids).get("x")?.data ?? [])], [3, -4]);
});

test("a large tensor is asked for in parts that follow each other", () => {
  assert.deepEqual(partsOf([2, 3], 6), [""]);
  assert.deepEqual(partsOf([5, 3], 6), ["0:2", "2:4", "4:5"]);
  assert.deepEqual(partsOf([2, 3, 4], 8), ["0,0:2", "0,2:3", "1,0:2", "1,2:3"]);
});

test("files are named by what they hold", () => {
  assert.equal(fileName(["slides", NAME, [0, 1, 2, 3]], "svg"), `slides-${NAME}-0.1.2.3.svg`);
  assert.equal(fileName(["../../etc/pass wd", "語"], "html"), "etc-pass-wd-語.html");
  assert.equal(fileName(["..."], "csv"), "glassformer.csv");
  assert.ok(fileName(["x".repeat(500)], "csv").length < 130);
});
