/** Random weights to begin with, the same for the same seed in every browser. */

import type { Stretch } from "../formulas/program.ts";

/** Numbers from 0 up to 1: Knuth's linear congruential generator of 64 bits, of which the upper 53 are used. */
export function numbersFrom(seed: number): () => number {
  let state = BigInt(Math.trunc(seed));
  const next = (): number => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number(state >> 11n) / 2 ** 53;
  };
  // The first number of neighbouring seeds would be nearly the same.
  next();
  next();
  return next;
}

/**
 * Evenly between ± √(6 ÷ (rows + columns)), as the slides' model begins (Glorot and Bengio 2010); norms begin with weights of
 * 1 and biases of 0.
 */
export function drawWeights(weights: Float64Array, stretches: ReadonlyMap<string, Stretch>, seed: number): void {
  const next = numbersFrom(seed);
  for (const [name, { start, size, shape }] of stretches) {
    if (shape.length === 1) {
      weights.fill(name.endsWith(".weight") ? 1 : 0, start, start + size);
      continue;
    }
    const bound = Math.sqrt(6 / shape.reduce((sum, each) => sum + each, 0));
    for (let at = start; at < start + size; at++) weights[at] = (2 * next() - 1) * bound;
  }
}
