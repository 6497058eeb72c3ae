import assert from "node:assert/strict";
import test from "node:test";
import { formatKept, parseKept } from "../../src/edit/session/kept.ts";

test("what is kept leads back to itself", () => {
  for (const row of [null, 0, 12]) {
    const kept = { row, model: "runs/a, b", changes: "mask,inputs,0,1,-;text,0,She likes~, it" };
    assert.deepEqual(parseKept(formatKept(kept)), kept);
  }
});

test("what an address keeps wrongly is not kept", () => {
  for (const text of ["", "*", "x,,", "-1,,", "*,%E0%A4%A,"]) assert.equal(parseKept(text), null, text);
});
