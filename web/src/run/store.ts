/** What the views share: the run, its names, the numbers opened so far, and the answers about single numbers. */

import { signal } from "@preact/signals";
import { MissingTensor } from "../formulas/evaluator.ts";
import { cellAt, type Explanation, explainCell } from "../formulas/interpreter.ts";
import { Names } from "../formulas/names.ts";
import { type Dots, DRAWN_WHOLE } from "../numbers/dots.ts";
import { at, sizeOf, type Tensor } from "../numbers/safetensors.ts";
import type { Cell } from "../record/axes.ts";
import type { Formula, Honesty } from "../record/record.ts";
import { setBy } from "../record/set_by.ts";
import type { Step } from "../record/step.ts";
import { DifferenceSource } from "../sources/difference.ts";
import { problemOf } from "../sources/refused.ts";
import type { Large, Source } from "../sources/source.ts";
import { say } from "../words/say.ts";

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
      /** Of two runs, the number of one less that of the other. */
      readonly kind: "difference";
      readonly name: string;
      readonly cell: readonly number[];
      readonly value: number;
      readonly sides: readonly [number, number];
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
  /** So many were set by hand. */
  readonly set: number;
  readonly error: number;
  readonly worst: string;
}

/** A page checks itself by so many numbers, spread over all tensors; a small run is checked whole. */
const CHECKS = 4000;

/** A picture is drawn in boxes that are never larger; so many pictures are kept. */
const DOTS = { rows: 128, columns: 192 };
const PICTURES = 200;

/** So many answers of a server are kept. */
const ANSWERS = 40;

export class Store {
  readonly source: Source;
  readonly names: Names;
  /** The cell that the mouse points at, until it points at another one. */
  readonly pointed = signal<{ readonly name: string; readonly cell: readonly number[] } | null>(null);
  readonly checked = signal<Checked | null>(null);
  /** Whether looking changes a number: the honesty gate, or in words that it is still measured, or could not be. */
  readonly honesty;
  /** The changes that set numbers by hand. */
  readonly steps: readonly Step[];
  /** What the views on the page have opened: what the store of another run opens before it takes this one's place. */
  readonly wanted = { opened: new Map<string, number>(), drawn: new Map<string, number>() };
  /** Another run is shown: what is still to be worked out again is not worth it. */
  retired = false;
  readonly #opened = new Map<string, Tensor>();
  readonly #pictures = new Map<string, Dots>();
  /** The last answers about numbers that are not here: the numbers that read one were asked for with it. */
  readonly #answers = new Map<string, Answer>();

  constructor(source: Source, steps: readonly Step[] = source.run.editing?.steps ?? []) {
    this.source = source;
    this.steps = steps;
    this.honesty = signal<Honesty | string | null>(source.run.honesty);
    this.names = new Names(source.run);
  }

  /** The tensors of these names, as far as this page has them. */
  async open(names: Iterable<string>): Promise<void> {
    const opening = this.openAtHand(names);
    const found = await Promise.all(opening.map((name) => this.source.tensor(name)));
    found.forEach((tensor, place) => {
      if (tensor !== undefined) this.#opened.set(opening[place] ?? "", tensor);
    });
  }

  /** Opens those of these tensors that are at hand, and gives the names of the others. */
  openAtHand(names: Iterable<string>): string[] {
    return [...new Set(names)].filter((name) => {
      if (this.#opened.has(name)) return false;
      const tensor = this.source.atHand?.(name);
      if (tensor !== undefined) this.#opened.set(name, tensor);
      return tensor === undefined;
    });
  }

  readonly fetch = (name: string): Tensor | undefined => this.#opened.get(name);

  /** What these tensors are drawn from: the numbers, or of large ones a picture. */
  async draw(names: Iterable<string>): Promise<void> {
    await Promise.all([...new Set(names)].map((name) => this.#draw(name)));
  }

  async #draw(name: string): Promise<void> {
    const { large } = this.source;
    const shape = this.shape(name);
    if (large === undefined || shape === undefined || sizeOf(shape) <= DRAWN_WHOLE) return this.open([name]);
    if (this.#opened.has(name)) return;
    const [held, { rows, columns }] = [this.#pictures.get(name), DOTS];
    this.#pictures.delete(name);
    this.#pictures.set(name, held ?? (await large.dots(name, rows, columns)));
    for (const oldest of this.#pictures.keys()) {
      if (this.#pictures.size <= PICTURES) break;
      this.#pictures.delete(oldest);
    }
  }

  /** What a tensor is drawn from, once it has been opened or drawn. */
  readonly drawn = (name: string): Tensor | undefined => this.#opened.get(name) ?? this.#pictures.get(name);

  /** How large a tensor, a weight or a fact is, as far as that is known. */
  readonly shape = (name: string): readonly number[] | undefined => {
    return this.#opened.get(name)?.shape ?? this.source.large?.shape(name) ?? this.names.run.weights[name];
  };

  /** What is known of one number, where all that it takes is here; undefined where something is to be waited for. */
  answerAtHand(name: string, cell: readonly number[]): Answer | undefined {
    const { source } = this;
    if (source.large?.shape(name) !== undefined) return this.#answers.get(keyOf(name, cell)) ?? this.#met(name, cell);
    const tensor = source.whole ? source.atHand?.(name) : undefined;
    if (tensor === undefined || cell.length !== tensor.shape.length) return undefined;
    this.#opened.set(name, tensor);
    const [formula, value] = [this.names.formulas.get(name), at(tensor, cell)];
    if (formula === undefined) return { kind: "given", name, cell, value };
    try {
      const fetch = (operand: string): Tensor | undefined => source.atHand?.(operand);
      return this.#found(name, cell, value, explainCell(formula, this.#named(name, cell), fetch, source.run));
    } catch (error) {
      if (error instanceof MissingTensor) return undefined;
      throw error;
    }
  }

  /** A number that was given, and stands as a factor in one of the last explanations: what is followed home is one of them. */
  #met(name: string, cell: readonly number[]): Answer | undefined {
    if (this.names.formulas.has(name)) return undefined;
    const at = cell.join();
    for (const answer of this.#answers.values()) {
      const terms = answer.kind === "computed" ? answer.found.terms : [];
      for (const { factors } of terms) {
        const met = factors.find((factor) => factor.name === name && factor.index.join() === at);
        if (met !== undefined) return { kind: "given", name, cell, value: met.value };
      }
    }
    return undefined;
  }

  /** What is known of one number; rejects with an AbortError once `signal` is aborted. */
  async answer(name: string, cell: readonly number[], signal?: AbortSignal): Promise<Answer> {
    const { large } = this.source;
    const shape = large?.shape(name);
    if (large !== undefined && shape !== undefined) return this.#asked(name, cell, shape, large, signal);
    await this.open([name]);
    const [tensor, formula] = [this.fetch(name), this.names.formulas.get(name)];
    const value = tensor === undefined || cell.length !== tensor.shape.length ? undefined : at(tensor, cell);
    if (tensor === undefined || value === undefined || (tensor.partial && Number.isNaN(value))) {
      return { kind: "missing", name, cell, value: null, missing: name };
    }
    if (this.source instanceof DifferenceSource) {
      const sides = await this.source.sides(name, cell);
      if (sides !== null) return { kind: "difference", name, cell, value, sides };
    }
    if (formula === undefined) return { kind: "given", name, cell, value };
    try {
      return this.#found(name, cell, value, await this.source.explain(formula, this.#named(name, cell), signal));
    } catch (error) {
      const by = setBy(this.steps, name, cell);
      if (error instanceof MissingTensor && by !== null) return { kind: "set", name, cell, value, by, formula: null };
      if (error instanceof MissingTensor) return { kind: "missing", name, cell, value, missing: error.tensor };
      throw error;
    }
  }

  /** A number as its formula gives it, or as it was set by hand. */
  #found(name: string, cell: readonly number[], value: number, found: Explanation): Answer {
    const by = setBy(this.steps, name, cell);
    if (by === null) return { kind: "computed", name, cell, found };
    return { kind: "set", name, cell, value, by, formula: found.recomputed };
  }

  #isSet({ name }: Formula, cell: Cell): boolean {
    const index = this.names.axes(name).map((axis) => cell[axis] ?? 0);
    return setBy(this.steps, name, index) !== null;
  }

  /** The same of a tensor that is not here: its source is asked for the one number. */
  async #asked(
    name: string,
    cell: readonly number[],
    shape: readonly number[],
    large: Large,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const inside = cell.length === shape.length && cell.every((index, axis) => index < (shape[axis] ?? 0));
    if (!inside) return { kind: "missing", name, cell, value: null, missing: name };
    const formula = this.names.formulas.get(name);
    const known = this.#answers.get(keyOf(name, cell));
    if (known !== undefined) return known;
    if (formula !== undefined) {
      const found = await this.source.explain(formula, this.#named(name, cell), signal);
      const answer = this.#found(name, cell, found.value, found);
      this.#keep(name, cell, answer);
      return answer;
    }
    const part = await large.window(
      name,
      cell,
      cell.map((index) => index + 1),
      signal,
    );
    return { kind: "given", name, cell, value: part.value(cell) };
  }

  /** Asks for what the next answers need in one request, where each of them would be one; the last answers are kept. */
  async askTogether(
    numbers: readonly (readonly [name: string, cell: readonly number[]])[],
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = numbers.flatMap(([name, cell]) => {
      const formula = this.names.formulas.get(name);
      const asked = formula !== undefined && this.source.large?.shape(name) !== undefined;
      return asked && !this.#answers.has(keyOf(name, cell))
        ? [{ formula, index: cell, cell: this.#named(name, cell) }]
        : [];
    });
    if (wanted.length < 2 || this.source.explainAll === undefined) return;
    const found = await this.source.explainAll(wanted, signal);
    found.forEach((each, at) => {
      const index = wanted[at]?.index ?? [];
      this.#keep(each.name, index, this.#found(each.name, index, each.value, each));
    });
  }

  #keep(name: string, cell: readonly number[], answer: Answer): void {
    this.#answers.set(keyOf(name, cell), answer);
    for (const oldest of this.#answers.keys()) {
      if (this.#answers.size <= ANSWERS) break;
      this.#answers.delete(oldest);
    }
  }

  #named(name: string, cell: readonly number[]): Record<string, number> {
    return Object.fromEntries(this.names.axes(name).map((axis, place) => [axis, cell[place] ?? 0]));
  }

  /** Works numbers out again while nothing else is to be done. */
  async check(): Promise<void> {
    void this.#gate();
    const formulas = this.source.run.formulas.filter((formula) => this.fetch(formula.name) !== undefined);
    const share = Math.ceil(CHECKS / Math.max(formulas.length, 1));
    let [count, of, set, error, worst] = [0, 0, 0, 0, ""];
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
        if (this.steps.length > 0 && this.#isSet(formula, cell)) {
          set += 1;
          continue;
        }
        try {
          const found = explainCell(formula, cell, this.fetch, this.source.run);
          if (found.error > error) [error, worst] = [found.error, formula.name];
          count += 1;
        } catch (problem) {
          if (!(problem instanceof MissingTensor)) throw problem;
          if (this.fetch(problem.tensor) !== undefined) continue;
          if ((await reads(problem.tensor)) === undefined) break;
          await this.open([problem.tensor]);
          flat -= every;
        }
      }
      this.checked.value = { count, of, set, error, worst };
    }
  }

  /** Has the gate measured, once, after the picture: it takes as long as the run. */
  async #gate(): Promise<void> {
    if (this.source.honesty === undefined || this.honesty.value !== null) return;
    this.honesty.value = say`whether looking changes a number is being checked`;
    await idle();
    try {
      this.honesty.value = await this.source.honesty();
    } catch (error) {
      const why = problemOf(error);
      this.honesty.value = say`whether looking changes a number could not be checked: ${why}`;
    }
  }
}

function keyOf(name: string, cell: readonly number[]): string {
  return `${name} ${cell.join()}`;
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve(), { timeout: 200 });
    else setTimeout(resolve, 0);
  });
}
