/** A formula and the tensors that it reads, and what a rule makes of one cell: see `look/formulas/rules/evaluator.py`. */

import { exactSum } from "../numbers/arithmetic.ts";
import { at, sizeOf, slice, type Tensor } from "../numbers/safetensors.ts";
import { axisNames, type Cell, indexOf, namedSizes, stepAlong } from "../record/axes.ts";
import type { Formula, Operand, Rule, RunRecord, Side } from "../record/record.ts";

/** One number that a term is made of: a cell of a named tensor, or a constant, which has no name. */
export interface Factor {
  readonly name: string | null;
  readonly index: readonly number[];
  readonly value: number;
}

/** One part of a sum; `added`: its value is the sum of its factors, not their product. */
export interface Term {
  readonly what: string;
  readonly factors: readonly Factor[];
  readonly value: number;
  readonly added?: true;
}

/** Whether a mask has put a term there: its value is no product of the mask and the fill. */
export function isFill({ what }: Term): boolean {
  return what.startsWith("forbidden");
}

/** The terms of a sum in their order: what each comes to, and any of them. */
export interface Terms {
  readonly length: number;
  readonly values: ArrayLike<number>;
  at(place: number): Term | undefined;
}

/** How one cell is computed; `quantities` are numbers found on the way. */
export interface Working {
  readonly terms: readonly Term[];
  readonly result: number;
  readonly quantities: Readonly<Record<string, number>>;
  /** The same terms where there may be thousands, of which few are looked at. */
  readonly long?: Along;
}

export type Compute = (rule: Fields, tensors: Evaluator, cell: Cell) => Working;

/** A tensor that the page does not carry, or that has not been opened yet. */
export class MissingTensor extends Error {
  readonly tensor: string;

  constructor(tensor: string) {
    super(`${tensor} is not at hand`);
    this.tensor = tensor;
  }
}

/** The fields of a rule, each read as what it has to be. */
export class Fields {
  readonly rule: Rule;

  constructor(rule: Rule) {
    this.rule = rule;
  }

  operand(role: string): Operand {
    const found = this.maybe(role);
    if (found === null) throw new Error(`${this.rule.rule} has no operand ${role}`);
    return found;
  }

  maybe(role: string): Operand | null {
    const found = this.rule[role];
    return isOperand(found) ? found : null;
  }

  terms(): [string, Operand][] {
    const found = this.rule["terms"];
    return typeof found === "object" && !isOperand(found) ? Object.entries(found) : [];
  }

  number(field: string): number {
    const found = this.rule[field];
    if (found === "inf" || found === "-inf") return found === "inf" ? Infinity : -Infinity;
    if (typeof found !== "number") throw new Error(`${this.rule.rule} has no number ${field}`);
    return found;
  }

  has(field: string): boolean {
    return this.rule[field] !== undefined;
  }

  text(field: string): string {
    return String(this.rule[field]);
  }

  flag(field: string): boolean {
    return this.rule[field] === true;
  }
}

export function isOperand(value: unknown): value is Operand {
  return typeof value === "object" && value !== null && typeof (value as Operand).axes === "string";
}

/** Every operand of a rule, by role. */
export function operandsOf(rule: Rule): [string, Operand][] {
  return Object.entries(rule).flatMap(([role, value]): [string, Operand][] => {
    if (isOperand(value)) return [[role, value]];
    return typeof value === "object" ? Object.entries(value) : [];
  });
}

/** Numbers of an operand that are met along an axis. */
interface Met {
  readonly values: ArrayLike<number>;
  factor(step: number): Factor;
}

/**
 * The terms of a sum along an axis, and at most one after them. Each is made when it is asked for: of a vocabulary's
 * thousands a page shows a dozen.
 */
export class Along implements Terms {
  readonly length: number;

  constructor(
    readonly values: Float64Array,
    private readonly over: string,
    private readonly factors: (step: number) => Factor[],
    private readonly last?: Term,
  ) {
    this.length = values.length;
  }

  at(place: number): Term | undefined {
    const value = this.values[place];
    if (value === undefined) return undefined;
    if (this.last !== undefined && place === this.length - 1) return this.last;
    return { what: `${this.over} ${place}`, factors: this.factors(place), value };
  }

  /** What is worked out of them. */
  working(result: number, quantities: Working["quantities"] = {}): Working {
    const all = (): Term[] => Array.from(this.values, (_, place) => this.at(place) as Term);
    let made: Term[] | undefined;
    return {
      ...{ long: this, result, quantities },
      get terms() {
        made ??= all();
        return made;
      },
    };
  }
}

/** Terms that are all here. */
export function inOrder(terms: readonly Term[]): Terms {
  return {
    length: terms.length,
    values: Float64Array.from(terms, ({ value }) => value),
    at: (place) => terms[place],
  };
}

export type Fetch = (name: string) => Tensor | undefined;

export class Evaluator {
  readonly formula: Formula;
  readonly axes: readonly string[];
  readonly scoredAt: readonly number[] | null;
  readonly precision: RunRecord["precision"];
  readonly #fetch: Fetch;

  constructor(formula: Formula, fetch: Fetch, run: Pick<RunRecord, "scored_at" | "precision">) {
    this.formula = formula;
    this.axes = axisNames(formula.axes);
    this.scoredAt = run.scored_at;
    this.precision = run.precision;
    this.#fetch = fetch;
  }

  tensor(name: string): Tensor {
    const found = this.#fetch(name);
    if (found === undefined) throw new MissingTensor(name);
    return found;
  }

  /** One number of an operand. */
  factor(operand: Operand, cell: Cell): Factor {
    const tensor = this.tensor(operand.name);
    const index = indexOf(operand, tensor.shape, cell, this.scoredAt);
    return { name: operand.name, index, value: at(tensor, index) };
  }

  value(operand: Operand, cell: Cell): number {
    const tensor = this.tensor(operand.name);
    return at(tensor, indexOf(operand, tensor.shape, cell, this.scoredAt));
  }

  /** How long an operand's axis is. */
  size(operand: Operand, axis: string): number {
    const sizes = namedSizes(operand, this.tensor(operand.name).shape, this.scoredAt?.length ?? 0);
    const found = sizes.get(axis);
    if (found === undefined) throw new Error(`${operand.name} has no axis ${axis}`);
    return found;
  }

  /** The cells met along an axis; one object is moved along, to be read before the next step. */
  *steps(operand: Operand, over: string, cell: Cell): Generator<[number, Cell]> {
    const size = this.size(operand, over);
    const here: Record<string, number> = { ...cell };
    for (let step = 0; step < size; step++) {
      here[over] = step;
      yield [step, here];
    }
  }

  /** The numbers of an operand met along an axis: where they are is worked out once, for a vocabulary has thousands. */
  along(operand: Operand, over: string, cell: Cell): Met {
    const { name } = operand;
    const { shape, data } = this.tensor(name);
    const count = this.size(operand, over);
    const moved = stepAlong(operand, shape, over);
    if (moved === null) {
      const all = Array.from(this.steps(operand, over, cell), ([, here]) => this.factor(operand, here));
      return { values: all.map(({ value }) => value), factor: (step) => all[step] ?? plain(NaN) };
    }
    const { axis, by } = moved;
    const first = indexOf(operand, shape, { ...cell, [over]: 0 }, this.scoredAt);
    const stride = by * sizeOf(shape.slice(axis + 1));
    const start = first.reduce((flat, index, each) => flat * (shape[each] ?? 1) + index, 0);
    const last = start + (count - 1) * stride;
    if (last >= data.length) throw new Error(`there is no number ${count - 1} of ${name} along ${over}`);
    // What stands side by side is copied as one.
    const values = stride === 1 ? new Float64Array(slice(data, start, count)) : new Float64Array(count);
    if (stride !== 1) for (let step = 0; step < count; step++) values[step] = data[start + step * stride] ?? NaN;
    const index = (step: number): number[] => first.map((from, at) => (at === axis ? from + by * step : from));
    return { values, factor: (step) => ({ name, index: index(step), value: values[step] ?? NaN }) };
  }

  /** The number of tokens of a side. */
  length(side: Side): number {
    return this.tensor(`${side}.positions`).shape[1] ?? 0;
  }

  /** Whether this cell belongs to a masked word whose vector is zeroed. */
  isZeroed(maskedWords: Operand | null, cell: Cell): boolean {
    return maskedWords !== null && this.value(maskedWords, cell) !== 0;
  }
}

/** An index along an axis of the cell. */
export function step(cell: Cell, axis: string): number {
  const found = cell[axis];
  if (found === undefined) throw new Error(`the cell has no ${axis}`);
  return found;
}

/** The working of a plain sum. */
export function total(terms: readonly Term[]): Working {
  return { terms, result: exactSum(terms.map((term) => term.value)), quantities: {} };
}

/** A factor that is a plain number; a factor of 1 is left out. */
export function constant(value: number): Factor[] {
  return value === 1 ? [] : [plain(value)];
}

export function plain(value: number): Factor {
  return { name: null, index: [], value };
}
