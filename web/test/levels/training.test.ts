import assert from "node:assert/strict";
import { test } from "node:test";
import { paletteOf } from "../../src/draw/colour.ts";
import { curveScene, ticksBetween } from "../../src/levels/training/curve_scene.ts";
import { baselinesOf, evaluatedAt, headsOf, joined, placeOf, type Record, type Told } from "../../src/run/training.ts";

const PALETTE = paletteOf((name) => (name === "--least" ? "0.08" : name === "--paper" ? "#ffffff" : "#123456"));

function record(step: number, loss: number | null = 5): Record {
  return { step, epoch: step / 10, loss, mean: loss, learning_rate: 0.1, sentences: [] };
}

function told(records: readonly Record[], more: Partial<Told> = {}): Told {
  return {
    ...{ task: "masked-lm", steps: 40, baselines: ["unigram"], running: false, saved: true },
    ...{ mark: "", fresh: true, watched: null, damaged: 0 },
    curve: {
      lines: 1,
      points: [
        [10, 7, 0.1],
        [20, 6, 0.1],
        [40, 4, 0.1],
      ],
    },
    evaluated: [
      { step: 20, loss: 6.5, unigram_loss: 6 },
      { step: 40, loss: 4.5, unigram_loss: 6 },
    ],
    ...more,
    records,
  };
}

test("new records come behind those that are known, or in their place", () => {
  const before = told([record(0), record(1)]);
  const more = joined(before, told([record(2)], { fresh: false, running: true }));
  assert.deepEqual(
    more.records.map(({ step }) => step),
    [0, 1, 2],
  );
  assert.equal(more.running, true);
  assert.deepEqual(
    joined(more, told([record(0), record(2)])).records.map(({ step }) => step),
    [0, 2],
  );
});

test("a step stands for the record before it, an evaluation for those after it", () => {
  const records = [record(0), record(4), record(9)];
  assert.deepEqual(
    [0, 3, 4, 8, 9, 100].map((step) => placeOf(records, step)),
    [0, 0, 1, 1, 2, 2],
  );
  assert.equal(evaluatedAt(told(records), 19), undefined);
  assert.equal(evaluatedAt(told(records), 39)?.["loss"], 6.5);
  assert.deepEqual(baselinesOf(told(records)), [{ name: "unigram", loss: 6 }]);
});

test("heads come back as they were kept: squared bytes, little-endian float32", () => {
  const attention = { name: "encoder.blocks.0.self_attention", heads: 2, shape: [2, 2], picture: [2, 2] } as const;
  const sentence = { text: "", words: { inputs: [] }, hidden: [], places: [], attentions: [attention] };
  const shares = [1, 0, 0.25, 0.75, 0.5, 0.5, 0.9, 0.1];
  const dots = Uint8Array.from(shares, (share) => Math.round(255 * Math.sqrt(share)));
  const numbers = new DataView(new ArrayBuffer(16));
  [0.5, 0.25, 1.5, Number.NaN].forEach((value, place) => {
    numbers.setFloat32(4 * place, value, true);
  });
  const packed = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
  const answered = { says: "", places: [], dots: packed(dots), measured: packed(new Uint8Array(numbers.buffer)) };
  const [found] = headsOf(sentence, answered, ["self", "first"]);
  assert.ok(found !== undefined);
  assert.deepEqual(found.thumbnails.shape, [2, 2, 2]);
  shares.forEach((share, place) => {
    assert.ok(Math.abs((found.thumbnails.data[place] as number) - share) < 0.004);
  });
  assert.deepEqual([found.measured[0]?.self, found.measured[0]?.first, found.measured[1]?.self], [0.5, 0.25, 1.5]);
  assert.ok(Number.isNaN(found.measured[1]?.first));
  assert.ok(Number.isNaN(found.measured[0]?.entropy));
});

test("the ticks are round and hold what is drawn", () => {
  assert.deepEqual(ticksBetween(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticksBetween(5.31, 8.02, 5), [5, 6, 7, 8, 9]);
  assert.deepEqual(ticksBetween(0.3, 0.3, 5).length, 2);
  assert.deepEqual(ticksBetween(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 5), [0, 1]);
});

for (const log of [true, false]) {
  test(`each record has its spot in the curve, from left to right${log ? ", by the logarithm" : ""}`, () => {
    const records = [record(0, null), ...[1, 2, 3, 5, 9, 14, 22, 40].map((step) => record(step, 8 - step / 10))];
    const given = { palette: PALETTE, measure: (text: string) => text.length * 7, log, pins: [{ name: "A", step: 5 }] };
    const { scene, spots } = curveScene(told(records), given, 640, 260);
    assert.deepEqual(
      spots.map(({ id }) => Number(id)),
      records.map(({ step }) => step),
    );
    spots.forEach((spot, place) => {
      assert.ok(spot.x >= 0 && spot.x + spot.w <= 640 + 3, `${spot.id} lies outside`);
      assert.ok(place === 0 || spot.x >= (spots[place - 1]?.x ?? 0));
    });
    const texts = scene.items.flatMap((item) => ("text" in item ? [item] : []));
    assert.ok(texts.some(({ text }) => text === "unigram 6"));
    assert.ok(texts.some(({ text, bold }) => text === "A" && bold === true));
    // No two numbers below the axis touch.
    const below = texts.filter(({ align, y }) => align === "center" && y > 220).sort((one, two) => one.x - two.x);
    below.slice(1).forEach((each, place) => {
      const before = below[place];
      assert.ok(before !== undefined && each.x - before.x >= (each.text.length + before.text.length) * 3.5);
    });
    for (const item of scene.items) {
      if ("d" in item) assert.ok(!item.d.includes("NaN"), item.d);
    }
  });
}

test("a training of which nothing is known yet is drawn without a curve", () => {
  const empty = told([record(0, null)], { curve: { lines: 1, points: [] }, evaluated: [] });
  const { scene } = curveScene(empty, { palette: PALETTE, measure: () => 10, log: true, pins: [] }, 320, 220);
  assert.ok(scene.items.every((item) => !("d" in item) || !item.d.includes("NaN")));
});
