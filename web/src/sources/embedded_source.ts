/** An exported page as the source of its run. */

import { MissingTensor } from "../formulas/evaluator.ts";
import { type Explanation, explainCell } from "../formulas/interpreter.ts";
import { rulesFor } from "../formulas/rules_for.ts";
import { type Heads, headsOf } from "../measures/heads.ts";
import { readTensors, type Tensor, withRows } from "../numbers/safetensors.ts";
import type { Cell } from "../record/axes.ts";
import { FORMAT, type Formula, type RunRecord } from "../record/record.ts";
import { say } from "../words/say.ts";
import { Derived, withDerived } from "./derived.ts";
import { numbersIn, type Source, unpacked } from "./source.ts";

/** The blocks that an exported page carries. */
export class EmbeddedSource implements Source {
  readonly run: RunRecord;
  readonly whole = true;
  readonly #tensors: Map<string, Tensor>;
  #weights: Promise<void> | undefined;
  /** Whether the weights are here: what is worked out reads them. */
  #opened = false;

  private constructor(run: RunRecord, tensors: Map<string, Tensor>) {
    this.run = run;
    this.#tensors = withDerived(tensors, run);
  }

  static async open(): Promise<EmbeddedSource> {
    const [record, tensors] = await Promise.all([unpacked("record"), unpacked("tensors")]);
    const run = JSON.parse(new TextDecoder().decode(record)) as RunRecord;
    if (run.format !== FORMAT) throw new Error(say`this page reads format ${FORMAT}, not ${run.format}`);
    await rulesFor(run.formulas);
    return new EmbeddedSource(run, readTensors(tensors));
  }

  async tensor(name: string): Promise<Tensor | undefined> {
    const found = this.#tensors.get(name);
    if (found instanceof Derived || (found === undefined && name.startsWith("parameters."))) {
      this.#weights ??= this.#openWeights();
      await this.#weights;
    }
    return this.#tensors.get(name);
  }

  atHand(name: string): Tensor | undefined {
    const found = this.#tensors.get(name);
    return found instanceof Derived && !this.#opened ? undefined : found;
  }

  shape(name: string): readonly number[] | undefined {
    return this.#tensors.get(name)?.shape ?? this.run.weights[name];
  }

  async numbersAt(name: string, index: readonly number[]): Promise<ArrayLike<number> | undefined> {
    const tensor = await this.tensor(name);
    return tensor === undefined ? undefined : numbersIn(tensor, index);
  }

  heads(attention: string, sentence: number, dots: number): Promise<Heads | undefined> {
    return headsOf(this.run, (name) => this.tensor(name), attention, sentence, dots);
  }

  lacks(name: string): boolean {
    return document.getElementById(`section-${name}`) === null;
  }

  async section(name: string): Promise<unknown> {
    if (this.lacks(name)) return undefined;
    return JSON.parse(new TextDecoder().decode(await unpacked(`section-${name}`)));
  }

  training(): Promise<unknown> {
    return this.section("training");
  }

  async #openWeights(): Promise<void> {
    for (const [name, tensor] of readTensors(await unpacked("weights"))) {
      const [rows, shape] = [this.run.rows[name], this.run.weights[name]];
      this.#tensors.set(name, rows && shape ? withRows(tensor, rows, shape) : tensor);
    }
    this.#opened = true;
  }

  async explain(formula: Formula, cell: Cell): Promise<Explanation> {
    for (;;) {
      try {
        return explainCell(formula, cell, (name) => this.atHand(name), this.run);
      } catch (error) {
        // Of a table that is here in part another row is missing.
        if (!(error instanceof MissingTensor) || this.atHand(error.tensor) !== undefined) throw error;
        if ((await this.tensor(error.tensor)) === undefined) throw error;
      }
    }
  }
}
