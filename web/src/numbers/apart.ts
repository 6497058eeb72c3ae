/** Digits that tell unequal shares apart. */

import { inCell } from "./written.ts";

/**
 * So many digits after the point, from `least` on, that the largest and the smallest of unequal shares can be distinguished;
 * `least` where two more do not do it.
 */
export function apart(shares: readonly number[], least: number): number {
  const found = shares.filter((share) => share > 0);
  const [low, high] = [Math.min(...found), Math.max(...found)];
  for (let digits = least; digits < least + 3; digits++) {
    if (high === low || low.toFixed(digits) !== high.toFixed(digits)) return digits;
  }
  return least;
}

/** Two digits after the point, or three where these tell the numbers of a row apart and two do not. */
export function digitsIn(rows: readonly ArrayLike<number>[]): number {
  return rows.some((row) => apart(Array.from(row), 2) === 3) ? 3 : 2;
}

/** A share in a cell of a grid: `0.10`, or `.101`. */
export function shareInCell(share: number, digits: number): string {
  return digits === 2 || Number.isInteger(share) ? inCell(share) : share.toFixed(digits).replace(/^0/, "");
}
