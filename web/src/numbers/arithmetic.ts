/** Arithmetic that JavaScript lacks: a sum that is rounded once, the complementary error function, the largest numbers, a range. */

/** The partial sums of a sum: they do not overlap, and all bits of the doubles there are make at most 41 of them. */
const partials = new Float64Array(64);

/** The sum of the numbers, rounded once (Shewchuk's partial sums, as Python's `math.fsum`). */
export function exactSum(numbers: ArrayLike<number>): number {
  let [count, special] = [0, 0];
  for (let at = 0; at < numbers.length; at++) {
    let x = numbers[at] ?? 0;
    if (!Number.isFinite(x)) {
      special += x;
      continue;
    }
    let kept = 0;
    for (let place = 0; place < count; place++) {
      const partial = partials[place] ?? 0;
      const first = Math.abs(x) < Math.abs(partial);
      const large = first ? partial : x;
      const small = first ? x : partial;
      const sum = large + small;
      const lost = small - (sum - large);
      if (lost !== 0) partials[kept++] = lost;
      x = sum;
    }
    partials[kept] = x;
    count = kept + 1;
  }
  if (special !== 0) return special;
  return rounded(count);
}

/** So many partials are added from the largest; what is left decides a tie. */
function rounded(count: number): number {
  let last = count - 1;
  if (last < 0) return 0;
  let high = partials[last] ?? 0;
  let low = 0;
  while (last > 0) {
    const x = high;
    const y = partials[--last] ?? 0;
    high = x + y;
    low = y - (high - x);
    if (low !== 0) break;
  }
  const next = partials[last - 1];
  if (last > 0 && next !== undefined && ((low < 0 && next < 0) || (low > 0 && next > 0))) {
    const doubled = low * 2;
    const x = high + doubled;
    if (doubled === x - high) high = x;
  }
  return high;
}

/** How many of the numbers are not 0. */
export function nonzero(numbers: ArrayLike<number>): number {
  let count = 0;
  for (let at = 0; at < numbers.length; at++) if (numbers[at] !== 0) count += 1;
  return count;
}

/**
 * 1 − erf(x). Up to 2 by the series of positive terms (Abramowitz and Stegun 7.1.6), above by the continued fraction
 * (7.1.14), from its end.
 */
export function erfc(x: number): number {
  if (x < 0) return 2 - erfc(-x);
  if (x < 2) {
    let term = x;
    let sum = x;
    for (let n = 1; term > sum * 1e-18; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let below = x;
  for (let n = 120; n > 0; n--) below = x + n / 2 / below;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / below;
}

/**
 * The places of the numbers that are largest by their size, in their order; of equal ones those that come first. `apart`:
 * numbers that are no candidates.
 */
export function largestPlaces(
  numbers: ArrayLike<number>,
  count: number,
  apart?: (number: number, place: number) => boolean,
): number[] {
  if (apart === undefined && numbers.length <= count) return Array.from(numbers, (_, place) => place);
  if (count < 1) return [];
  // Sizes alone are sorted, and of a vocabulary's thousands only those that are among the largest so far.
  const sizes = new Float64Array(2 * count);
  let [held, least] = [0, -1];
  for (let place = 0; place < numbers.length; place++) {
    const number = numbers[place] ?? 0;
    const size = Math.abs(number);
    if (size <= least || apart?.(number, place) === true) continue;
    sizes[held++] = size;
    if (held < sizes.length) continue;
    sizes.sort();
    sizes.copyWithin(0, count);
    [held, least] = [count, sizes[0] ?? 0];
  }
  const largest = sizes
    .subarray(0, held)
    .sort()
    .subarray(Math.max(held - count, 0));
  const smallest = largest[0] ?? 0;
  let equal = count - largest.filter((size) => size > smallest).length;
  const found: number[] = [];
  for (let place = 0; place < numbers.length; place++) {
    const number = numbers[place] ?? 0;
    const size = Math.abs(number);
    if (size < smallest || apart?.(number, place) === true) continue;
    if (size > smallest || equal-- > 0) found.push(place);
  }
  return found;
}

/** The sum of the numbers but for those at these places, which are in order. */
export function sumWithout(numbers: ArrayLike<number>, places: readonly number[]): number {
  let [sum, next] = [0, 0];
  for (let at = 0; at < numbers.length; at++) {
    if (at === places[next]) next += 1;
    else sum += numbers[at] ?? 0;
  }
  return sum;
}

/** 0, 1, … below `count`, or what `make` makes of each. */
export function range(count: number): number[];
export function range<T>(count: number, make: (index: number) => T): T[];
export function range(count: number, make: (index: number) => unknown = (index) => index): unknown[] {
  const found: unknown[] = [];
  for (let index = 0; index < count; index++) found.push(make(index));
  return found;
}
