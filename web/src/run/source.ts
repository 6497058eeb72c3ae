/** Where a page gets its run from. The same views stand before an exported file, a server and a notebook. */

import type { Cell } from "./axes.ts";
import { MissingTensor } from "./evaluator.ts";
import { type Explanation, explainCell } from "./interpreter.ts";
import { FORMAT, type Formula, type RunRecord } from "./record.ts";
import { readTensors, type Tensor } from "./safetensors.ts";

export interface Source {
  readonly run: RunRecord;
  /** The numbers of a tensor, a weight or a fact; undefined where this source does not have them. */
  tensor(name: string): Promise<Tensor | undefined>;
  /** One number and what it was made of; throws MissingTensor where an operand is not to be had. */
  explain(formula: Formula, cell: Cell): Promise<Explanation>;
}

/** The blocks that an exported page carries. */
export class EmbeddedSource implements Source {
  readonly run: RunRecord;
  readonly #tensors: Map<string, Tensor>;
  #weights: Promise<void> | undefined;

  private constructor(run: RunRecord, tensors: Map<string, Tensor>) {
    this.run = run;
    this.#tensors = tensors;
  }

  static async open(): Promise<EmbeddedSource> {
    const [record, tensors] = await Promise.all([unpacked("record"), unpacked("tensors")]);
    const run = JSON.parse(new TextDecoder().decode(record)) as RunRecord;
    if (run.format !== FORMAT) throw new Error(`this page reads format ${FORMAT}, not ${run.format}`);
    return new EmbeddedSource(run, readTensors(tensors));
  }

  async tensor(name: string): Promise<Tensor | undefined> {
    if (!this.#tensors.has(name) && name.startsWith("parameters.")) {
      this.#weights ??= this.#openWeights();
      await this.#weights;
    }
    return this.#tensors.get(name);
  }

  async #openWeights(): Promise<void> {
    for (const [name, tensor] of readTensors(await unpacked("weights"))) this.#tensors.set(name, tensor);
  }

  async explain(formula: Formula, cell: Cell): Promise<Explanation> {
    for (;;) {
      try {
        return explainCell(formula, cell, (name) => this.#tensors.get(name), this.run);
      } catch (error) {
        if (!(error instanceof MissingTensor) || (await this.tensor(error.tensor)) === undefined) throw error;
      }
    }
  }
}

/** The bytes of an inert block: base64 of gzip. */
export async function unpacked(id: string): Promise<ArrayBuffer> {
  const text = document.getElementById(id)?.textContent;
  if (text == null) throw new Error(`this page has no block ${id}`);
  return new Response(new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** base64 as bytes; browsers of before 2025 have only the slower way. */
function decoded(text: string): Uint8Array<ArrayBuffer> {
  const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> };
  if (native.fromBase64 !== undefined) return native.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place++) bytes[place] = binary.charCodeAt(place);
  return bytes;
}
