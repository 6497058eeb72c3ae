/** Every tensor of a run from its words and weights: each formula in its turn, on the results of those before it. */

import type { Tensor } from "../numbers/safetensors.ts";
import { axisNames, namedSizes } from "../record/axes.ts";
import type { Formula, RunRecord, Side } from "../record/record.ts";
import { type Fetch, operandsOf } from "./evaluator.ts";
import { wholeTensor, workOf } from "./whole.ts";

/** What is put in the place of tensors by hand. */
export interface Hand {
  /** The tensor with the changes made to it, or itself where there are none. */
  touch(name: string, tensor: Tensor, fetch: Fetch): Tensor;
  /** The changes of this tensor as text; empty where there are none. */
  sign(name: string): string;
}

interface Made {
  readonly read: readonly (Tensor | undefined)[];
  readonly sign: string;
  readonly tensor: Tensor;
}

/** How many sentences and tokens of each side there are. */
export interface Counts {
  readonly sentences: number;
  readonly tokens: Readonly<Record<Side, number>>;
  readonly places: number;
}

/** Works out a run again and again; a tensor none of whose operands is another one stays as it is. */
export class Recomputer {
  readonly #made = new Map<string, Made>();
  /** The rules as text: those of a run are looked at again at each change. */
  readonly #rules = new WeakMap<Formula, string>();
  readonly #before: Pick<RunRecord, "scored_at">;
  readonly #stored: Fetch;

  /** `stored` has the tensors of the run as it was before any change: their sizes are those of the results. */
  constructor(before: Pick<RunRecord, "scored_at">, stored: Fetch) {
    this.#before = before;
    this.#stored = stored;
  }

  /** All tensors of a run; `given` has the facts and weights as they are now. */
  compute(run: RunRecord, given: Fetch = this.#stored, hand?: Hand): Map<string, Tensor> {
    const stored = this.#stored;
    const computed = new Set(run.formulas.map((formula) => formula.name));
    const found = new Map<string, Tensor>();
    const fetch: Fetch = (name) => found.get(name) ?? (computed.has(name) ? undefined : given(name));
    const [before, after] = [countsOf(stored, this.#before), countsOf(given, run)];
    for (const formula of run.formulas) {
      const was = stored(formula.name)?.shape;
      if (was === undefined) continue;
      const shape = shapeOf(formula, was, before, after, fetch);
      const read = operandsOf(formula.rule).map(([, operand]) => fetch(operand.name));
      const places = formula.axes.includes("place") ? (run.scored_at ?? []).join() : "";
      const sign = [this.#rule(formula), shape.join(), places, hand?.sign(formula.name)].join(" ");
      const last = this.#made.get(formula.name);
      const same = last?.sign === sign && read.every((tensor, place) => tensor === last.read[place]);
      let tensor = same ? last.tensor : wholeTensor(formula, shape, fetch, run);
      if (!same && hand !== undefined) tensor = hand.touch(formula.name, tensor, fetch);
      this.#made.set(formula.name, { read, sign, tensor });
      found.set(formula.name, tensor);
    }
    return found;
  }

  #rule(formula: Formula): string {
    const text = this.#rules.get(formula) ?? JSON.stringify(formula.rule);
    this.#rules.set(formula, text);
    return text;
  }
}

/** All tensors of a run once. */
export function recompute(run: RunRecord, fetch: Fetch): Map<string, Tensor> {
  return new Recomputer(run, fetch).compute(run);
}

/** Multiplications and additions that a page may need for one change: 0.1 s on a slow machine. */
export const MOST_WORK = 20_000_000;

/** About how many multiplications and additions a run takes. */
export function workOfRun(run: RunRecord, fetch: Fetch): number {
  return run.formulas.reduce((sum, formula) => {
    const shape = fetch(formula.name)?.shape;
    return sum + (shape === undefined ? 0 : workOf(formula, shape, fetch));
  }, 0);
}

export function countsOf(fetch: Fetch, run: Pick<RunRecord, "scored_at">): Counts {
  const text = (side: Side): readonly number[] | undefined => {
    return (fetch(`${side}.ids`) ?? fetch(`${side}.vectors`) ?? fetch(`${side}.positions`))?.shape;
  };
  const inputs = text("inputs") ?? [1, 1];
  return {
    sentences: inputs[0] ?? 1,
    tokens: { inputs: inputs[1] ?? 1, decoder_inputs: (text("decoder_inputs") ?? inputs)[1] ?? 1 },
    places: run.scored_at?.length ?? 0,
  };
}

/** The shape of a result: as it was, along the axes of the text as long as the text is now or as its operands are. */
function shapeOf(
  formula: Formula,
  was: readonly number[],
  before: Counts,
  after: Counts,
  fetch: Fetch,
): readonly number[] {
  const operands = operandsOf(formula.rule).map(([, operand]) => {
    return namedSizes(operand, fetch(operand.name)?.shape ?? [], after.places);
  });
  return axisNames(formula.axes).map((axis, place) => {
    const size = was[place] ?? 1;
    const now = along(formula, axis, after);
    if (now === null) return size;
    const own = size === along(formula, axis, before) ? now : size;
    // What was the same for all sentences is not any more, where an operand is not.
    return Math.max(own, ...operands.map((sizes) => sizes.get(axis) ?? 1));
  });
}

/** A tensor's shape with nothing shared: along the axes of the text as long as the text of a run is. */
export function fullShape(name: string, run: RunRecord, stored: Fetch, given: Fetch): readonly number[] | undefined {
  const formula = run.formulas.find((each) => each.name === name);
  const [was, counts] = [stored(name)?.shape, countsOf(given, run)];
  if (formula === undefined || was === undefined) return was;
  return axisNames(formula.axes).map((axis, place) => along(formula, axis, counts) ?? was[place] ?? 1);
}

/** How long an axis of the text is; null for any other. */
function along({ tokens, keys }: Formula, axis: string, counts: Counts): number | null {
  if (axis === "sentence" || axis === "candidate") return counts.sentences;
  if (axis === "token" || axis === "query") return counts.tokens[tokens];
  if (axis === "key") return counts.tokens[keys];
  return axis === "place" ? counts.places : null;
}
