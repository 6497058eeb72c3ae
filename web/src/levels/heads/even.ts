/** What a head would give each kind of place if it looked evenly at all that it may look at: some kinds have several tokens. */

import type { Names } from "../../formulas/names.ts";
import { headsOf, type Measured } from "../../measures/heads.ts";
import type { Source } from "../../sources/source.ts";
import { numberAt } from "../head/score_table.tsx";

/** Undefined of a run that is not here whole. */
export async function evenHead(
  source: Source,
  names: Names,
  attention: string,
  sentence: number,
  head: number,
): Promise<Measured | undefined> {
  if (!source.whole) return undefined;
  const [weights, mask] = [`${attention}.weights`, `${attention}.may_look`];
  const [, , queries = 1, keys = 1] = source.shape(weights) ?? [];
  const looks = await source.tensor(mask);
  const data = new Float64Array(queries * keys);
  for (let query = 0; query < queries; query++) {
    const row = data.subarray(query * keys, (query + 1) * keys);
    for (let key = 0; key < keys; key++) {
      row[key] = Number(looks === undefined || numberAt(looks, [sentence, head, query, key]) !== 0);
    }
    const count = row.reduce((sum, each) => sum + each, 0);
    for (let key = 0; key < keys; key++) row[key] = (row[key] ?? 0) / Math.max(count, 1);
  }
  const even = { shape: [1, 1, queries, keys], data };
  const tensor = async (name: string) => (name === weights ? even : name === mask ? undefined : source.tensor(name));
  return (await headsOf(names.run, tensor, attention, sentence, 1))?.measured[0];
}
