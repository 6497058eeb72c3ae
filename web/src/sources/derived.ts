/** A tensor that the page works out from its formula: see `page/sections/derived.py`. */

import type { Fetch } from "../formulas/evaluator.ts";
import { wholeTensor } from "../formulas/whole.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import type { Formula, RunRecord } from "../record/record.ts";

export class Derived implements Tensor {
  readonly dtype = "F32";
  readonly shape: readonly number[];
  #data: Float32Array | undefined;

  /** `steps` has how far each number of the run is from the formula's; `fetch` the operands. */
  constructor(
    private readonly formula: Formula,
    private readonly steps: Tensor,
    private readonly run: RunRecord,
    private readonly fetch: Fetch,
  ) {
    this.shape = steps.shape;
  }

  get data(): Float32Array {
    this.#data ??= this.#made();
    return this.#data;
  }

  #made(): Float32Array {
    const found = new Float32Array(wholeTensor(this.formula, this.shape, this.fetch, this.run).data);
    const bits = new Int32Array(found.buffer);
    const steps = this.steps.data;
    for (let place = 0; place < bits.length; place++) {
      const step = steps[place] ?? 0;
      const own = found[place] === 0 ? 0 : (bits[place] ?? 0);
      bits[place] = inOrder(inOrder(own) + ((step >>> 1) ^ -(step & 1)));
    }
    const { at, value } = this.run.unsure[this.formula.name] ?? { at: [], value: [] };
    for (const [order, place] of at.entries()) found[place] = value[order] ?? NaN;
    return found;
  }
}

/** The tensors of a page by name, in the place of steps what they are steps of. */
export function withDerived(tensors: Map<string, Tensor>, run: RunRecord): Map<string, Tensor> {
  for (const formula of run.formulas) {
    const steps = formula.name in run.unsure ? tensors.get(formula.name) : undefined;
    if (steps !== undefined) tensors.set(formula.name, new Derived(formula, steps, run, (name) => tensors.get(name)));
  }
  return tensors;
}

/** The bits of a float32 as an integer, so that a greater number has a greater one and neighbours differ by 1; and back. */
function inOrder(bits: number): number {
  return (bits | 0) < 0 ? bits ^ 0x7fffffff : bits | 0;
}
