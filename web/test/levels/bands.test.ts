/** The boxes of a block in bands: no flow goes through a box or a word, none goes far back, all boxes are in the picture. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Look } from "../../src/draw/box.ts";
import type { Palette } from "../../src/draw/colour.ts";
import type { Item, Scene } from "../../src/draw/scene.ts";
import { Names } from "../../src/formulas/names.ts";
import { blockScene } from "../../src/levels/block/block_scene.ts";
import { FAR } from "../../src/levels/block/ways.ts";
import type { Tensor } from "../../src/numbers/safetensors.ts";
import type { Formula, RunRecord } from "../../src/record/record.ts";

const [STREAM, PARTS, SQUARE] = ["sentence token channel", "sentence head token channel", "sentence head query key"];
const ATTENTION = "encoder.blocks.0.self_attention";

/** The tensors of an encoder's block: each with its axes, its sizes without sentences, and what it is made of. */
function tensorsOf(heads: number, tokens: number, width: number): [string, string, number[], string[]][] {
  const own = (name: string): string => `${ATTENTION}.${name}`;
  const [stream, parts, square] = [
    [tokens, width],
    [heads, tokens, width / heads],
    [heads, tokens, tokens],
  ];
  return [
    ["encoder.embed.word", STREAM, stream, []],
    ["encoder.embed.position", STREAM, stream, []],
    ["encoder.embed.joined", STREAM, stream, ["encoder.embed.word", "encoder.embed.position"]],
    [own("query"), PARTS, parts, ["encoder.embed.joined"]],
    [own("key"), PARTS, parts, ["encoder.embed.joined"]],
    [own("value"), PARTS, parts, ["encoder.embed.joined"]],
    [own("scores"), SQUARE, square, [own("query"), own("key")]],
    [own("scaled"), SQUARE, square, [own("scores")]],
    [own("masked"), SQUARE, square, [own("scaled")]],
    [own("weights"), SQUARE, square, [own("masked")]],
    [own("mixed"), PARTS, parts, [own("weights"), own("value")]],
    [own("merged"), STREAM, stream, [own("mixed")]],
    [own("output"), STREAM, stream, [own("merged")]],
    ["encoder.blocks.0.after_attention", STREAM, stream, ["encoder.embed.joined", own("output")]],
    ["encoder.blocks.0.widened", STREAM, [tokens, 2 * width], ["encoder.blocks.0.after_attention"]],
    ["encoder.blocks.0.output", STREAM, stream, ["encoder.blocks.0.widened", "encoder.blocks.0.after_attention"]],
  ];
}

const PALETTE: Palette = {
  ...{ paper: "", ink: "", quiet: "", hair: "", faint: "" },
  text: () => "",
  fill: () => "",
  cell: () => "",
  bytes: () => [0, 0, 0],
  shade: () => "",
  on: () => "",
};
const measure = (text: string): number => text.length * 6;

function sceneOf(width: number, [heads, tokens, channels]: readonly [number, number, number]): Scene {
  const tensors = tensorsOf(heads, tokens, channels);
  const axesOf = new Map(tensors.map(([name, axes]) => [name, axes]));
  const formulas = tensors.map(([name, axes, , from]): Formula => {
    const operands = Object.fromEntries(
      from.map((each, at) => [`x${at}`, { name: each, axes: axesOf.get(each) ?? "" }]),
    );
    const more = { unit: "encoder.blocks.0", title: "", extra: false, words: "", mathml: "" };
    return { name, axes, rule: { rule: "add", ...operands }, tokens: "inputs", keys: "inputs", ...more };
  });
  const run = {
    ...{ format: 1, title: "tiny", precision: "float64", error_limit: 1e-12, scored_at: null, places: [], formulas },
    model: { family: "slides", parameters: 0, stacks: [] },
    words: {
      inputs: [Array.from({ length: tokens }, (_, at) => `word${at}`)],
      ...{ decoder_inputs: [], vocabulary: [], labels: [], candidates: [], answers: [] },
    },
    ...{ facts: {}, weights: {}, shared: {}, changes: "", honesty: null, left_out: {}, limit: 1e6 },
  } as unknown as RunRecord;
  const found = new Map<string, Tensor>(
    tensors.map(([name, , sizes]) => {
      const shape = [1, ...sizes];
      return [name, { shape, data: new Float64Array(shape.reduce((one, two) => one * two)) }];
    }),
  );
  const look: Look = { palette: PALETTE, measure, side: 13, step: 6, sentence: 0, text: "", word: -1 };
  return blockScene(formulas, new Names(run), (name) => found.get(name), look, width);
}

type Point = readonly [number, number];

/** The points of a path of M, L, H, V, h, C and Q, close to each other. */
function pointsOf(d: string): Point[] {
  const points: Point[] = [];
  let [x, y] = [0, 0];
  for (const [, sign = "", told = ""] of d.matchAll(/([MLHVhCQ])([^MLHVhCQ]*)/g)) {
    const numbers = told.trim().split(/[ ,]+/).map(Number);
    const [sx, sy] = [x, y];
    if (sign === "H") x = numbers[0] ?? x;
    else if (sign === "h") x += numbers[0] ?? 0;
    else if (sign === "V") y = numbers[0] ?? y;
    else [x = 0, y = 0] = numbers.slice(-2);
    if (sign === "M") points.push([x, y]);
    else {
      const through: Point[] = [[sx, sy]];
      const inner = sign === "C" || sign === "Q" ? numbers : [x, y];
      for (let at = 0; at < inner.length; at += 2) through.push([inner[at] ?? 0, inner[at + 1] ?? 0]);
      for (let step = 1; step <= 40; step++) points.push(bezier(through, step / 40));
    }
  }
  return points;
}

function bezier(points: readonly Point[], at: number): Point {
  if (points.length === 1) return points[0] ?? [0, 0];
  const next = points.slice(1).map(([x, y], place): Point => {
    const [fx, fy] = points[place] ?? [0, 0];
    return [fx + (x - fx) * at, fy + (y - fy) * at];
  });
  return bezier(next, at);
}

interface Area {
  readonly what: string;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

function areasOf({ panels, items }: Scene): Area[] {
  const texts = items.flatMap((item): Area[] => {
    if (!("text" in item) || item.turned === true) return [];
    const { x, y, text, align = "left" } = item;
    const wide = measure(text);
    const left = x - (align === "left" ? 0 : align === "right" ? wide : wide / 2);
    return [{ what: `“${text}”`, left, top: y - 8, right: left + wide, bottom: y }];
  });
  const boxes = panels.map(({ tensor, x, y, w, h }) => ({
    what: tensor,
    left: x,
    top: y,
    right: x + w,
    bottom: y + h,
  }));
  return [...boxes, ...texts];
}

const flowsIn = ({ items }: Scene): string[] => {
  return items.flatMap((item: Item) => ("d" in item && item.line === 1.5 ? [item.d] : []));
};

const SIZES = [
  [2, 5, 6],
  [3, 11, 192],
  [4, 8, 128],
  [1, 40, 64],
] as const;

for (const sizes of SIZES) {
  test(`flows between boxes of ${sizes.join(" × ")} go around them, at every width`, () => {
    for (const width of [326, 358, 560, 808, 1064, 1448]) {
      const scene = sceneOf(width, sizes);
      const flows = flowsIn(scene);
      assert.ok(flows.length > 30, `${flows.length} lines`);
      const areas = areasOf(scene);
      for (const { what, left, right, top, bottom } of areas) {
        assert.ok(left >= 0 && right <= scene.width && top >= 0 && bottom <= scene.height, `${what} at ${width}`);
      }
      for (const d of flows) {
        const points = pointsOf(d);
        for (const [x, y] of points) {
          const met = areas.find((each) => x > each.left && x < each.right && y > each.top && y < each.bottom);
          assert.equal(met?.what, undefined, `${d} at ${width}`);
          assert.ok(x >= 0 && x <= scene.width && y >= 0 && y <= scene.height, `${d} leaves ${width}`);
        }
        const [first = [0, 0], last = [0, 0]] = [points[0], points.at(-1)];
        assert.ok(first[0] - last[0] <= FAR + 40, `${d} goes back ${first[0] - last[0]} at ${width}`);
      }
    }
  });
}

test("a flow that is cut is named at the box that it enters", () => {
  const scene = sceneOf(358, SIZES[0]);
  const titles = scene.items.flatMap((item) => ("text" in item && item.text.includes("←") ? [item.text] : []));
  assert.ok(titles.length > 0);
  assert.deepEqual(
    titles.filter((title) => !/^\S.* ← \S/.test(title)),
    [],
  );
});
