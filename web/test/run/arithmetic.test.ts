import assert from "node:assert/strict";
import { test } from "node:test";
import { largestTerms } from "../../src/draw/terms.tsx";
import { inOrder, type Term } from "../../src/formulas/evaluator.ts";
import { erfc, exactSum } from "../../src/numbers/arithmetic.ts";

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

test("the largest terms are those of a sort, in the order of the sum, the first of equal ones", () => {
  let seed = 5;
  const random = (): number => {
    seed = (seed * 48271) % 2147483647;
    return seed / 2147483647;
  };
  for (const [length, count] of [
    [3, 4],
    [50, 1],
    [400, 7],
    [3000, 388],
  ] as const) {
    // Of few values, so that many are equal; of both signs.
    const terms = Array.from({ length }, (_, place): Term => {
      return { what: String(place), factors: [], value: Math.round((random() - 0.5) * 40) };
    });
    const order = terms.map((_, place) => place);
    const size = (place: number): number => Math.abs(terms[place]?.value ?? 0);
    order.sort((one, two) => size(two) - size(one) || one - two);
    const chosen = order.slice(0, count).sort((one, two) => one - two);
    assert.deepEqual(
      largestTerms(inOrder(terms), count).map(({ what }) => Number(what)),
      chosen,
    );
  }
});
