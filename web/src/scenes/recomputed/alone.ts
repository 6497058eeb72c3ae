/** One sentence of a batch worked out again without its padding, to be compared with the run. */

import type { Fetch } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import { Recomputer, workOfRun } from "../../formulas/recompute.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, sizeOf, type Tensor } from "../../numbers/safetensors.ts";
import type { Formula, Side } from "../../record/record.ts";
import { realPlaces } from "../board/reading.ts";

/** Multiplications and additions that a picture may take: half a second on a slow machine. */
const MOST_WORK = 100_000_000;

export interface Alone {
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The real places of each side. */
  readonly real: Readonly<Record<Side, readonly number[]>>;
  /**
   * How many numbers of the real words were compared, in how many blocks, and the largest difference, as a
   * share of the largest number of its tensor.
   */
  readonly count: number;
  readonly blocks: number;
  readonly largest: number;
}

const known = new WeakMap<Names, Map<number, Alone>>();

/** Needs the facts, the run's tensors and the weights opened; as many blocks as fit into the work of one picture. */
export function aloneOf(names: Names, fetch: Fetch, sentence: number): Alone {
  const kept = known.get(names) ?? new Map<number, Alone>();
  known.set(names, kept);
  const found = kept.get(sentence) ?? computed(names, fetch, sentence);
  kept.set(sentence, found);
  return found;
}

function computed({ run }: Names, fetch: Fetch, sentence: number): Alone {
  const places = (side: Side): number[] => realPlaces(fetch, side, sentence);
  const real = { inputs: places("inputs"), decoder_inputs: places("decoder_inputs") };
  const given: Fetch = (name) => {
    const [fact, tensor] = [run.facts[name], fetch(name)];
    if (fact === undefined || tensor === undefined || fact.axes[1] !== "token") return tensor;
    return part(tensor, sentence, real[fact.side as Side]);
  };
  let formulas: Formula[] = [];
  let work = 0;
  for (const unit of new Set(run.formulas.map((formula) => formula.unit))) {
    const own = run.formulas.filter((formula) => formula.unit === unit && !unit.includes("head"));
    work += workOfRun({ ...run, formulas: own }, fetch);
    if (work > MOST_WORK && formulas.length > 0) break;
    formulas = [...formulas, ...own];
  }
  const tensors = new Recomputer(run, fetch).compute({ ...run, formulas, scored_at: null }, given);
  let [count, largest] = [0, 0];
  for (const { name, axes, tokens } of formulas) {
    const [all, alone] = [fetch(name), tensors.get(name)];
    if (axes !== "sentence token channel" || all === undefined || alone === undefined) continue;
    let [off, size] = [0, 0];
    const row = Math.min(sentence, (all.shape[0] ?? 1) - 1);
    real[tokens].forEach((token, place) => {
      for (let channel = 0; channel < (alone.shape[2] ?? 0); channel++) {
        const value = at(all, [row, token, channel]);
        off = Math.max(off, Math.abs(value - at(alone, [0, place, channel])));
        size = Math.max(size, Math.abs(value));
        count += 1;
      }
    });
    largest = Math.max(largest, size === 0 ? off : off / size);
  }
  const blocks = new Set(formulas.flatMap(({ unit }) => (unit.includes(".blocks.") ? [unit] : []))).size;
  return { tensors, real, count, blocks, largest };
}

/** Of a fact the row of a sentence, at some of its places. */
function part({ shape, data }: Tensor, sentence: number, places: readonly number[]): Tensor {
  const [rows = 1, tokens = 1, ...rest] = shape;
  const size = sizeOf(rest);
  const start = Math.min(sentence, rows - 1) * tokens * size;
  const found = places.flatMap((place) => range(size, (at) => data[start + place * size + at] ?? 0));
  return { shape: [1, places.length, ...rest], data: found };
}
