/** Words instead of tokens: summed over the tokens that are looked at, averaged over those that look. */

export type Group = readonly number[];

/** A square of weights [query × key], row after row, for groups of its rows and columns. */
export function grouped(
  square: ArrayLike<number>,
  keys: number,
  rows: readonly Group[],
  columns: readonly Group[],
): Float64Array {
  const found = new Float64Array(rows.length * columns.length);
  rows.forEach((looking, row) => {
    columns.forEach((seen, column) => {
      let sum = 0;
      for (const query of looking) for (const key of seen) sum += square[query * keys + key] ?? 0;
      found[row * columns.length + column] = sum / looking.length;
    });
  });
  return found;
}
