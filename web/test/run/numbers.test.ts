import assert from "node:assert/strict";
import { test } from "node:test";
import { full, inCell, percent, power, short } from "../../src/numbers/written.ts";

test("numbers with the digits that matter", () => {
  assert.equal(short(0.765831), "0.766");
  assert.equal(short(-1073.2), "−1073");
  assert.equal(short(0), "0");
  assert.equal(short(-1000), "−1000");
  assert.equal(short(3e-8), "3·10⁻⁸");
  assert.equal(short(-Infinity), "−∞");
});

test("all digits are those of the precision that the number was computed in", () => {
  assert.equal(full(Math.fround(0.1), "float32"), "0.1");
  assert.equal(full(0.1 + 0.2, "float64"), "0.30000000000000004");
  assert.equal(full(Math.fround(0.765831), "float32"), "0.765831");
});

test("in a cell, 0 is exactly zero and 0.00 is small", () => {
  assert.equal(inCell(0), "0");
  assert.equal(inCell(0.001), "0.00");
  assert.equal(inCell(-12.34), "−12.3");
});

test("shares and powers", () => {
  assert.equal(percent(0.7658), "77 %");
  assert.equal(percent(0.0001), "< 0.1 %");
  assert.equal(power(2.4e-12), "2·10⁻¹²");
});
