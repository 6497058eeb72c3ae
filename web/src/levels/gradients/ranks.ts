/** How alike two columns of numbers order their rows. */

/** Spearman's rank correlation, from −1 to 1: Pearson's of the ranks, those of ties averaged. NaN: a column is constant. */
export function alikeness(one: readonly number[], two: readonly number[]): number {
  const [left, right] = [ranksOf(one), ranksOf(two)];
  const middle = (one.length - 1) / 2;
  const sum = (a: readonly number[], b: readonly number[]): number => {
    return a.reduce((all, rank, place) => all + (rank - middle) * ((b[place] ?? 0) - middle), 0);
  };
  return sum(left, right) / Math.sqrt(sum(left, left) * sum(right, right));
}

function ranksOf(values: readonly number[]): number[] {
  const order = [...values.keys()].sort((one, two) => (values[one] ?? 0) - (values[two] ?? 0));
  const ranks = new Array<number>(values.length).fill(0);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to + 1 < order.length && values[order[to + 1] ?? 0] === values[order[from] ?? 0]) to += 1;
    for (let at = from; at <= to; at++) ranks[order[at] ?? 0] = (from + to) / 2;
    from = to + 1;
  }
  return ranks;
}
