/** Gradients checked by finite differences: each weight moved a little up and down, and the loss looked at. */

import type { Program } from "../formulas/program.ts";

/** How far a weight is moved, of its size or of 1: the error of the difference is smallest about there. */
const REACH = 1e-5;

export interface FiniteCheck {
  readonly count: number;
  /** How many there are: of a larger model some are looked at, spread evenly. */
  readonly of: number;
  /** The largest difference as a share of the largest gradient, and the weight where it is. */
  readonly difference: number;
  readonly worst: number;
  /** The gradient and the quotient of differences there. */
  readonly gradient: number;
  readonly quotient: number;
}

/** So many weights are looked at, at most about: each takes two losses. Of a large model, whose loss takes long, fewer. */
const [MOST, LARGE, OF_LARGE] = [600, 50_000, 24];

/** Looks at every weight of a small program; its weights are as before afterwards. */
export function checkedByDifferences(program: Program): FiniteCheck {
  const { weights } = program;
  program.forward();
  program.backward();
  const gradient = program.gradient.slice();
  const scale = gradient.reduce((largest, each) => Math.max(largest, Math.abs(each)), 0) || 1;
  let [worst, difference, found] = [0, -1, 0];
  const every = Math.ceil(weights.length / (weights.length > LARGE ? OF_LARGE : MOST));
  for (let at = 0; at < weights.length; at += every) {
    const quotient = quotientOf(program, at);
    const apart = Math.abs(quotient - (gradient[at] ?? 0)) / scale;
    if (apart > difference || Number.isNaN(apart)) [worst, difference, found] = [at, apart, quotient];
  }
  program.forward();
  return {
    count: Math.ceil(weights.length / every),
    of: weights.length,
    difference,
    worst,
    gradient: gradient[worst] ?? 0,
    quotient: found,
  };
}

/** (loss a little above − loss a little below) ÷ the way between. */
export function quotientOf(program: Program, at: number): number {
  const { weights } = program;
  const own = weights[at] ?? 0;
  const reach = REACH * Math.max(1, Math.abs(own));
  weights[at] = own + reach;
  const above = program.forward();
  weights[at] = own - reach;
  const below = program.forward();
  weights[at] = own;
  return (above - below) / (2 * reach);
}
