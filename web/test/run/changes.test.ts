import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, formatChanges, parseChanges, withChange } from "../../src/edit/changes/changes.ts";
import { pythonOf, stepOf } from "../../src/edit/changes/python.ts";
import { compared, differing, movedTo, takenBack, told } from "../../src/edit/changes/words.ts";

const ATTENTION = "encoder.blocks.0.self_attention";
const CHANGES: Change[] = [
  { kind: "text", which: "text", row: 2, text: "likes; loves, ~ or <img onerror>" },
  { kind: "text", which: "second", row: 0, text: "" },
  { kind: "change_word", where: "decoder_inputs", sentence: 1, token: 3, id: 12 },
  { kind: "mask_word", where: "inputs", sentence: 0, token: 3, mask_id: null },
  { kind: "forbid", attention: ATTENTION, sentence: 0, head: 1, query: 2, key: 0 },
  { kind: "allow", attention: ATTENTION, sentence: 2, head: null, query: 0, key: 4 },
  { kind: "replace", where: `${ATTENTION}.mixed`, by: 0, cell: [null, 1] },
  { kind: "replace", where: "encoder.blocks.0.*.output", by: "mean", cell: [] },
  { kind: "replace", where: "head.logits", by: -1.5e-7, cell: [0, 3] },
];

test("changes are read from an address as they were written", () => {
  assert.deepEqual(parseChanges(formatChanges(CHANGES)), { changes: CHANGES, ignored: [] });
  assert.deepEqual(parseChanges(""), { changes: [], ignored: [] });
});

test("what is wrong in an address is ignored with a sentence, and the rest is read", () => {
  const wrong = [
    "set,x",
    "forbid,a,0,1,2",
    "word,sides,0,1,2",
    "set,x,1e,0",
    "set,x,Infinity,0",
    "text,-1,a",
    "patch,x,y,0",
  ];
  for (const each of wrong) {
    const { changes, ignored } = parseChanges(`${each};text,0,a`);
    assert.deepEqual(changes, [{ kind: "text", which: "text", row: 0, text: "a" }]);
    assert.deepEqual(ignored, [`The address names a change that this page does not know, “${each}”.`]);
  }
  assert.equal(parseChanges("text,0,a;".repeat(70)).changes.length, 64);
});

test("a later change of the same cell takes the place of an earlier one", () => {
  const allowed: Change = { kind: "allow", attention: ATTENTION, sentence: 0, head: 1, query: 2, key: 0 };
  assert.deepEqual(withChange(CHANGES, allowed), [...CHANGES.filter((_, place) => place !== 4), allowed]);
});

test("two readings are compared word by word, and each difference is taken back alone", () => {
  const before = "She likes the summer better".split(" ");
  const pieces = compared(before, "She never likes the winter".split(" "));
  const others = differing(pieces);
  assert.deepEqual(others.map(told), ["“never” put in", "summer → winter", "“better” left out"]);
  assert.deepEqual(
    others.map((piece) => takenBack(pieces, piece)),
    ["She likes the winter", "She never likes the summer", "She never likes the winter better"],
  );
  assert.deepEqual(movedTo(before, "She never likes the winter".split(" ")), [0, 2, 3, 4, null]);
});

test("the interventions are written by the names that say most", () => {
  assert.deepEqual(
    CHANGES.flatMap((change) => (change.kind === "text" ? [] : stepOf(change))),
    [
      'gf.ChangeWord(3, 12, sentence=1, where="decoder_inputs")',
      "gf.MaskWord(3)",
      `gf.forbid("${ATTENTION}", 2, 0, head=1)`,
      `gf.allow("${ATTENTION}", 0, 4, sentence=2)`,
      `gf.zero_head("${ATTENTION}", 1)`,
      'gf.average_layer("encoder.blocks.0")',
      'gf.set_number("head.logits", (0, 3), -1.5e-7)',
    ],
  );
  const code = pythonOf({
    loads: ["import glassformer as gf", 'model = gf.load("m")'],
    texts: ['say "a"', "b\n"],
    seconds: null,
    choices: ["c"],
    steps: [],
    shown: { name: "loss", axes: ["place"], cell: [2] },
  });
  const lines = ["import glassformer as gf", 'model = gf.load("m")'];
  lines.push(
    'trace = model.trace(["say \\"a\\"", "b\\n"], choices=["c"])',
    'print(trace.explain("loss", {"place": 2}))',
    "",
  );
  assert.equal(code, lines.join("\n"));
});
