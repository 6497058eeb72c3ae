/** A − B: the numbers of two runs subtracted, wherever a tensor has the same shape in both. */

import { MissingTensor } from "../formulas/evaluator.ts";
import type { Explanation } from "../formulas/interpreter.ts";
import { Names } from "../formulas/names.ts";
import type { Heads } from "../measures/heads.ts";
import { at, sizeOf, type Tensor } from "../numbers/safetensors.ts";
import type { RunRecord } from "../record/record.ts";
import { say } from "../words/say.ts";
import { numbersIn, type Source } from "./source.ts";

export class DifferenceSource implements Source {
  readonly run: RunRecord;
  readonly whole = true;
  readonly b: Source;
  readonly #a: Source;
  readonly #row: number | null;
  readonly #names: Names;
  readonly #made = new Map<string, Tensor>();

  /** With `row` every sentence of B is taken from that one sentence of A. */
  constructor(a: Source, b: Source, row: number | null) {
    this.#a = a;
    this.b = b;
    this.#row = row;
    this.#names = new Names(b.run);
    this.run = { ...b.run, title: say`A − B`, honesty: null, changes: "" };
  }

  /** [A's number, B's number] of a cell; null where the two cannot be subtracted. */
  async sides(name: string, cell: readonly number[]): Promise<readonly [number, number] | null> {
    const pair = await this.#pair(name);
    return pair === null ? null : [at(pair[0], cell), at(pair[1], cell)];
  }

  async tensor(name: string): Promise<Tensor | undefined> {
    const held = this.#made.get(name);
    if (held !== undefined) return held;
    const pair = await this.#pair(name);
    if (pair === null) return undefined;
    const [one, two] = pair;
    const data = new Float64Array(two.data.length);
    for (let flat = 0; flat < data.length; flat++) {
      const [a, b] = [one.data[flat] ?? 0, two.data[flat] ?? 0];
      // Two scores of −∞ do not differ.
      data[flat] = a === b ? 0 : a - b;
    }
    const made = { shape: two.shape, data };
    this.#made.set(name, made);
    return made;
  }

  async #pair(name: string): Promise<readonly [Tensor, Tensor] | null> {
    const [one, two] = await Promise.all([this.#a.tensor(name), this.b.tensor(name)]);
    if (one === undefined || two === undefined) return null;
    const a = this.#row === null ? one : this.#repeated(name, one, two.shape);
    return a !== null && a.shape.join() === two.shape.join() ? [a, two] : null;
  }

  /** The one sentence of A at the place of each of B's; null for numbers that do not belong to a sentence. */
  #repeated(name: string, tensor: Tensor, shape: readonly number[]): Tensor | null {
    if (name.startsWith("parameters.")) return tensor;
    if (this.#names.axes(name)[0] !== "sentence") return null;
    const [rows = 1, ...rest] = shape;
    if (tensor.shape.slice(1).join() !== rest.join()) return null;
    const size = sizeOf(rest);
    const start = Math.min(this.#row ?? 0, (tensor.shape[0] ?? 1) - 1) * size;
    const data = new Float64Array(rows * size);
    for (let flat = 0; flat < data.length; flat++) data[flat] = tensor.data[start + (flat % size)] ?? 0;
    return { shape, data };
  }

  shape(name: string): readonly number[] | undefined {
    return this.#made.get(name)?.shape ?? this.b.shape(name);
  }

  async numbersAt(name: string, index: readonly number[]): Promise<ArrayLike<number> | undefined> {
    const tensor = await this.tensor(name);
    return tensor === undefined ? undefined : numbersIn(tensor, index);
  }

  /** What heads do is known of a run, not of a difference. */
  async heads(): Promise<Heads | undefined> {
    return undefined;
  }

  /** Sections are those of a run too. */
  async section(): Promise<unknown> {
    return undefined;
  }

  /** A difference has no formula of its own. */
  explain(formula: { readonly name: string }): Promise<Explanation> {
    return Promise.reject(new MissingTensor(formula.name));
  }
}
