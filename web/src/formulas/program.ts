/** The formulas of a run compiled once for their sizes: the loss, and how it moves with every weight. */

import { sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { axisNames, namedSizes } from "../record/axes.ts";
import type { Formula, RunRecord } from "../record/record.ts";
import { DERIVATIVES, PARTIALS, type Sink, type Sinks } from "./derivatives.ts";
import { type Fetch, operandsOf } from "./evaluator.ts";
import type { Loop, Read } from "./loop.ts";
import { prepared } from "./whole.ts";

export const LOSS = "loss";
export const LABELS = "labels";

/** The loss as the table has it: the mean of − log probability of the right words. */
export const LOSS_FORMULA: Formula = {
  name: LOSS,
  axes: "",
  rule: {
    rule: "cross_entropy",
    x: { name: "head.log_probabilities", axes: "place vocabulary" },
    labels: { name: LABELS, axes: "place" },
    over: "place",
  },
  ...{ tokens: "inputs", keys: "inputs", unit: LOSS, title: "The loss", extra: true },
  ...{ words: "the mean of −log_probabilities of the right word", mathml: "" },
};

/** Where a weight stands among all of them. */
export interface Stretch {
  readonly start: number;
  readonly size: number;
  readonly shape: readonly number[];
}

interface Step {
  readonly formula: Formula;
  readonly loop: Loop;
  readonly made: Float64Array;
  /** How far the loss moves with each result. */
  readonly upstream: Float64Array;
  readonly sinks: Sinks;
  fill(): void;
}

/** One term of a gradient: how a result moves with the number, times how the loss moves with that result. */
export interface GradientTerm {
  readonly result: { readonly name: string; readonly at: number };
  readonly partial: number;
  /** The number that the partial is, where it is one of the run. */
  readonly other: { readonly name: string; readonly at: number } | null;
  /** What the partial is otherwise, in a few words. */
  readonly how: string;
  readonly upstream: number;
  readonly value: number;
}

/** Adds up how the loss moves with the numbers of one operand. */
class Adding implements Sink {
  readonly #into: Float64Array;
  readonly #upstream: Float64Array;

  constructor(into: Float64Array, upstream: Float64Array) {
    this.#into = into;
    this.#upstream = upstream;
  }

  add(at: number, flat: number, partial: number): void {
    (this.#into[at] as number) += partial * (this.#upstream[flat] as number);
  }
}

interface Kept {
  readonly flat: number;
  readonly partial: number;
  readonly other: { readonly name: string; readonly at: number } | null;
}

/** Keeps the terms of one number. */
class Keeping implements Sink {
  readonly #at: number;
  readonly #other: Read | null;
  readonly #into: Kept[];

  constructor(at: number, other: Read | null, into: Kept[]) {
    this.#at = at;
    this.#other = other;
    this.#into = into;
  }

  add(at: number, flat: number, partial: number, other: number): void {
    if (at !== this.#at) return;
    const made = this.#other === null || other < 0 ? null : { name: this.#other.name, at: other };
    this.#into.push({ flat, partial, other: made });
  }
}

export class Program {
  readonly run: RunRecord;
  /** All weights one after the other, and how far the loss moves with each. */
  readonly weights: Float64Array;
  readonly gradient: Float64Array;
  readonly stretches: ReadonlyMap<string, Stretch>;
  readonly #tensors = new Map<string, Tensor>();
  readonly #upstream = new Map<string, Float64Array>();
  /** What the loss needs, in the order of computation; and what only pictures do. */
  readonly #steps: Step[] = [];
  readonly #others: Step[] = [];

  /** `facts` has the words, the masks and the labels; throws where a rule has no derivative here. */
  constructor(run: RunRecord, facts: ReadonlyMap<string, Tensor>) {
    this.run = run;
    let size = 0;
    const stretches = new Map<string, Stretch>();
    for (const [name, shape] of Object.entries(run.weights)) {
      stretches.set(name, { start: size, size: sizeOf(shape), shape });
      size += sizeOf(shape);
    }
    this.stretches = stretches;
    this.weights = new Float64Array(size);
    this.gradient = new Float64Array(size);
    for (const [name, { start, size: own, shape }] of stretches) {
      this.#tensors.set(name, { shape, data: this.weights.subarray(start, start + own) });
      this.#upstream.set(name, this.gradient.subarray(start, start + own));
    }
    for (const [name, tensor] of facts) this.#tensors.set(name, tensor);
    const formulas = [...run.formulas, LOSS_FORMULA];
    const needed = needs(formulas);
    for (const formula of formulas) this.#compile(formula, needed.has(formula.name), run);
  }

  #compile(formula: Formula, needed: boolean, run: RunRecord): void {
    const shape = shapeBy(formula, this.fetch, run);
    const { loop, data: made, fill } = prepared(formula, shape, this.fetch, { ...run, precision: "float64" });
    this.#tensors.set(formula.name, { shape, data: made });
    const read = operandsOf(formula.rule).map(([, { name }]) => name);
    // What no weight goes into stays as it is.
    if (!read.some((name) => this.#upstream.has(name))) {
      fill();
      return;
    }
    const upstream = new Float64Array(made.length);
    const known = new Map<Read, Sink | null>();
    const sinks: Sinks = (operand) => {
      let sink = known.get(operand);
      if (sink === undefined) {
        const into = this.#upstream.get(operand.name);
        sink = into === undefined ? null : new Adding(into, upstream);
        known.set(operand, sink);
      }
      return sink;
    };
    this.#upstream.set(formula.name, upstream);
    if (needed && DERIVATIVES[formula.rule.rule] === undefined)
      throw new Error(`this page knows no derivative of the rule ${formula.rule.rule}`);
    (needed ? this.#steps : this.#others).push({ formula, loop, made, upstream, sinks, fill });
  }

  readonly fetch: Fetch = (name) => this.#tensors.get(name);

  /** The loss with the weights as they are now. */
  forward(): number {
    for (const step of this.#steps) step.fill();
    return this.loss;
  }

  get loss(): number {
    return this.#tensors.get(LOSS)?.data[0] ?? Number.NaN;
  }

  /** What only pictures need, after `forward`. */
  complete(): void {
    for (const step of this.#others) step.fill();
  }

  /** After `forward`: how far the loss moves with every number. */
  backward(): void {
    this.gradient.fill(0);
    for (const { upstream } of this.#steps) upstream.fill(0);
    const last = this.#steps.at(-1);
    if (last !== undefined) last.upstream[0] = 1;
    for (let at = this.#steps.length - 1; at >= 0; at--) {
      const { formula, loop, made, upstream, sinks } = this.#steps[at] as Step;
      (DERIVATIVES[formula.rule.rule] as (typeof DERIVATIVES)[string])(loop, made, upstream, sinks);
    }
  }

  /** How far the loss moves with a number of any tensor, after `backward`; 0 where it does not reach the loss. */
  gradientAt(name: string, at: number): number {
    return this.#upstream.get(name)?.[at] ?? 0;
  }

  /** Whether a weight goes into a tensor, or it is one. */
  moves(name: string): boolean {
    return this.#upstream.has(name);
  }

  /** The terms of the gradient of one number, after `backward`. */
  terms(name: string, at: number): GradientTerm[] {
    const found: GradientTerm[] = [];
    for (const { formula, loop, made, upstream } of this.#steps) {
      if (!operandsOf(formula.rule).some(([, operand]) => operand.name === name)) continue;
      const kept: Kept[] = [];
      const sinks: Sinks = (read, other) => (read.name === name ? new Keeping(at, other, kept) : null);
      DERIVATIVES[formula.rule.rule]?.(loop, made, upstream, sinks);
      const how = PARTIALS[formula.rule.rule] ?? "";
      for (const { flat, partial, other } of kept) {
        const further = upstream[flat] ?? 0;
        const result = { name: formula.name, at: flat };
        found.push({ result, partial, other, how, upstream: further, value: partial * further });
      }
    }
    return found;
  }
}

/** The names of the formulas that the loss is made of. */
function needs(formulas: readonly Formula[]): Set<string> {
  const needed = new Set([LOSS]);
  for (const { name, rule } of [...formulas].reverse()) {
    if (needed.has(name)) for (const [, operand] of operandsOf(rule)) needed.add(operand.name);
  }
  return needed;
}

/** The sizes of a result by those of its operands; an axis that none of them has is shared by all. */
function shapeBy(formula: Formula, fetch: Fetch, run: RunRecord): number[] {
  const { rule } = formula;
  const sizes = new Map<string, number>();
  for (const [, operand] of operandsOf(rule)) {
    const shape = fetch(operand.name)?.shape;
    if (shape === undefined) throw new Error(`${operand.name} is not at hand`);
    for (const [axis, size] of namedSizes(operand, shape, run.scored_at?.length ?? 0))
      sizes.set(axis, Math.max(size, sizes.get(axis) ?? 1));
  }
  const axes = axisNames(formula.axes);
  const last = axes.at(-1) ?? "";
  if (rule.rule === "concatenate") sizes.set(last, (sizes.get(last) ?? 1) * (sizes.get(String(rule["over"])) ?? 1));
  if (typeof rule["width"] === "number") sizes.set(last, rule["width"]);
  if (rule["causal"] === true) for (const axis of ["query", "key"]) sizes.set(axis, run.words.inputs[0]?.length ?? 1);
  return axes.map((axis) => sizes.get(axis) ?? 1);
}
