/** What the views share: the run, its names, the numbers opened so far, and the answers about single numbers. */

import { signal } from "@preact/signals";
import { setBy } from "../edit/hand.ts";
import type { Cell } from "./axes.ts";
import { MissingTensor } from "./evaluator.ts";
import { cellAt, type Explanation, explainCell } from "./interpreter.ts";
import { Names } from "./names.ts";
import type { Formula } from "./record.ts";
import { at, sizeOf, type Tensor } from "./safetensors.ts";
import type { Source } from "./source.ts";
import type { Step } from "./step.ts";

/** What is known of one number: how it was computed, that it was given, or what is missing to tell. */
export type Answer =
  | { readonly kind: "computed"; readonly name: string; readonly cell: readonly number[]; readonly found: Explanation }
  | { readonly kind: "given"; readonly name: string; readonly cell: readonly number[]; readonly value: number }
  | {
      /** Set by hand: its formula, which does not hold here, would give `formula`. */
      readonly kind: "set";
      readonly name: string;
      readonly cell: readonly number[];
      readonly value: number;
      readonly by: Step;
      readonly formula: number | null;
    }
  | {
      readonly kind: "missing";
      readonly name: string;
      readonly cell: readonly number[];
      readonly value: number | null;
      readonly missing: string;
    };

/** How many numbers were worked out again, and the largest error. */
export interface Checked {
  readonly count: number;
  readonly of: number;
  readonly error: number;
  readonly worst: string;
}

/** A page checks itself by so many numbers, spread over all tensors; a small run is checked whole. */
const CHECKS = 4000;

export class Store {
  readonly source: Source;
  readonly names: Names;
  /** The cell that the mouse points at, until it points at another one. */
  readonly pointed = signal<{ readonly name: string; readonly cell: readonly number[] } | null>(null);
  readonly checked = signal<Checked | null>(null);
  /** The changes that set numbers by hand. */
  readonly steps: readonly Step[];
  /** What the views on the page have opened: what the store of another run opens before it takes this one's place. */
  readonly wanted = new Map<string, number>();
  /** Another run is shown: what is still to be worked out again is not worth it. */
  retired = false;
  readonly #opened = new Map<string, Tensor>();

  constructor(source: Source, steps: readonly Step[] = source.run.editing?.steps ?? []) {
    this.source = source;
    this.steps = steps;
    this.names = new Names(source.run);
  }

  /** The tensors of these names, as far as this page has them. */
  async open(names: Iterable<string>): Promise<void> {
    for (const name of names) {
      if (this.#opened.has(name)) continue;
      const tensor = await this.source.tensor(name);
      if (tensor !== undefined) this.#opened.set(name, tensor);
    }
  }

  readonly fetch = (name: string): Tensor | undefined => this.#opened.get(name);

  async answer(name: string, cell: readonly number[]): Promise<Answer> {
    await this.open([name]);
    const [tensor, formula] = [this.fetch(name), this.names.formulas.get(name)];
    if (tensor === undefined || cell.length !== tensor.shape.length) {
      return { kind: "missing", name, cell, value: null, missing: name };
    }
    const value = at(tensor, cell);
    if (formula === undefined) return { kind: "given", name, cell, value };
    try {
      const axes = this.names.axes(name);
      const named = Object.fromEntries(axes.map((axis, place) => [axis, cell[place] ?? 0]));
      const found = await this.source.explain(formula, named);
      const by = setBy(this.steps, name, cell);
      if (by === null) return { kind: "computed", name, cell, found };
      return { kind: "set", name, cell, value, by, formula: found.recomputed };
    } catch (error) {
      const by = setBy(this.steps, name, cell);
      if (error instanceof MissingTensor && by !== null) return { kind: "set", name, cell, value, by, formula: null };
      if (error instanceof MissingTensor) return { kind: "missing", name, cell, value, missing: error.tensor };
      throw error;
    }
  }

  #isSet({ name }: Formula, cell: Cell): boolean {
    const index = this.names.axes(name).map((axis) => cell[axis] ?? 0);
    return setBy(this.steps, name, index) !== null;
  }

  /** Works numbers out again while nothing else is to be done. */
  async check(): Promise<void> {
    const formulas = this.source.run.formulas.filter((formula) => this.fetch(formula.name) !== undefined);
    const share = Math.ceil(CHECKS / Math.max(formulas.length, 1));
    let [count, of, error, worst] = [0, 0, 0, ""];
    for (const formula of formulas) of += sizeOf(this.fetch(formula.name)?.shape ?? []);
    for (const formula of formulas) {
      const shape = this.fetch(formula.name)?.shape ?? [];
      const size = sizeOf(shape);
      const every = of <= CHECKS ? 1 : Math.max(1, Math.floor(size / share));
      const reads = async (name: string): Promise<Tensor | undefined> => this.source.tensor(name);
      for (let flat = 0; flat < size; flat += every) {
        if (count % 64 === 0) await idle();
        if (this.retired) return;
        const cell = cellAt(this.names.axes(formula.name), shape, flat);
        // What was set by hand is not what its formula gives.
        if (this.steps.length > 0 && this.#isSet(formula, cell)) continue;
        try {
          const found = explainCell(formula, cell, this.fetch, this.source.run);
          if (found.error > error) [error, worst] = [found.error, formula.name];
          count += 1;
        } catch (problem) {
          if (!(problem instanceof MissingTensor)) throw problem;
          if ((await reads(problem.tensor)) === undefined) break;
          await this.open([problem.tensor]);
          flat -= every;
        }
      }
      this.checked.value = { count, of, error, worst };
    }
  }
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve(), { timeout: 200 });
    else setTimeout(resolve, 0);
  });
}
