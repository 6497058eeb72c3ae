import assert from "node:assert/strict";
import { test } from "node:test";
import { erfc, exactSum } from "../src/run/arithmetic.ts";

test("a sum is rounded once", () => {
  assert.equal(exactSum([1e16, 1, -1e16]), 1);
  assert.equal(exactSum([1e100, 1, -1e100, 2 ** -1074]), 1);
  assert.equal(exactSum(Array.from({ length: 10 }, () => 0.1)), 1);
  assert.equal(exactSum([]), 0);
  // Half of the last place, and something below it that decides.
  assert.equal(exactSum([1, 2 ** -53, 2 ** -106]), 1 + 2 ** -52);
  assert.equal(exactSum([1, 2 ** -53]), 1);
});

test("infinities go through a sum", () => {
  assert.equal(exactSum([1, -Infinity]), -Infinity);
  assert.ok(Number.isNaN(exactSum([Infinity, -Infinity])));
});

test("the complementary error function at known places", () => {
  // Abramowitz and Stegun, table 7.1, and the tail from its asymptotic series with 30 digits.
  const known: [number, number][] = [
    [0, 1],
    [0.5, 0.4795001221869535],
    [1, 0.15729920705028513],
    [2, 0.004677734981047266],
    [3, 2.209049699858544e-5],
    [5, 1.537459794428035e-12],
    [-1, 1.8427007929497148],
  ];
  for (const [x, expected] of known) {
    assert.ok(Math.abs(erfc(x) - expected) <= 4e-15 * Math.max(expected, 0.05), `erfc(${x}) = ${erfc(x)}`);
  }
});
