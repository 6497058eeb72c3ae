/** Where a page gets its run from. The same views stand before an exported file, a server and a notebook. */

import type { Explanation } from "../formulas/interpreter.ts";
import type { Heads } from "../measures/heads.ts";
import type { Dots, Part } from "../numbers/dots.ts";
import { sizeOf, slice, type Tensor } from "../numbers/safetensors.ts";
import type { Cell } from "../record/axes.ts";
import type { Formula, Honesty, RunRecord } from "../record/record.ts";
import { say } from "../words/say.ts";

export interface Source {
  readonly run: RunRecord;
  /** Whether all numbers are at hand: to open one costs no request. */
  readonly whole: boolean;
  /** How large a tensor is, without its numbers; undefined where that is not known. An axis shared by all has size 1. */
  shape(name: string): readonly number[] | undefined;
  /** The numbers at the beginning of an index: those of one sentence, of one place. */
  numbersAt(name: string, index: readonly number[]): Promise<ArrayLike<number> | undefined>;
  /** The largest of them with their places, where not all are here; undefined where they are. */
  largest?(name: string, index: readonly number[], count: number): Promise<[place: number, value: number][]>;
  /** What the heads of an attention do in one sentence, with pictures of at most so many dots a side. */
  heads(attention: string, sentence: number, dots: number): Promise<Heads | undefined>;
  /** The numbers of a tensor, a weight or a fact; undefined where this source does not have them. */
  tensor(name: string): Promise<Tensor | undefined>;
  /** A tensor that is here already; undefined for one that would have to be opened first. */
  atHand?(name: string): Tensor | undefined;
  /** One number and what it was made of; throws MissingTensor where an operand is not to be had. */
  explain(formula: Formula, cell: Cell, signal?: AbortSignal): Promise<Explanation>;
  /** What a view needs besides the tensors, as `page/sections/sections.py` names it; undefined where it is not to be had. */
  section(name: string): Promise<unknown>;
  /** Whether it is known, before it is asked for, that there is no such section. */
  lacks?(name: string): boolean;
  /** Several numbers at once, where each alone would be a request. */
  explainAll?(wanted: readonly Wanted[], signal?: AbortSignal): Promise<Explanation[]>;
  /** The honesty gate, where it is measured when it is asked for and not sent with the run. */
  honesty?(): Promise<Honesty | null>;
  /**
   * The training of the model, as `page/sections/training.py` writes it; undefined where none is known. Of its records only
   * those that have come since `mark`.
   */
  training?(mark: string): Promise<unknown>;
  /** Where tensors are too large to be had whole: their sizes, pictures and parts; undefined where all are. */
  readonly large?: Large | undefined;
}

/** One number, by its formula. */
export interface Wanted {
  readonly formula: Formula;
  readonly cell: Cell;
}

/** What is sent of tensors that are not sent whole. A request whose signal is aborted is given up. */
export interface Large {
  /** The shape of a tensor that was not sent with the run; undefined for one that was. */
  shape(name: string): readonly number[] | undefined;
  /** A picture of it in at most so many rows and columns. */
  dots(name: string, rows: number, columns: number): Promise<Dots>;
  /** A part of it, in its own digits: along each axis the first index, and the one after the last. */
  window(name: string, from: readonly number[], to: readonly number[], signal?: AbortSignal): Promise<Part>;
}

/** The numbers of a tensor at the beginning of an index. */
export function numbersIn(tensor: Tensor, index: readonly number[]): ArrayLike<number> {
  const size = sizeOf(tensor.shape.slice(index.length));
  const start = index.reduce((flat, step, axis) => flat * (tensor.shape[axis] ?? 1) + step, 0) * size;
  return slice(tensor.data, start, size);
}

/** The bytes of an inert block: base64 of gzip. */
export function unpacked(id: string): Promise<ArrayBuffer> {
  return inflated(elementOf(id)?.textContent ?? lacks(id));
}

function lacks(id: string): never {
  throw new Error(say`this page has no block ${id}`);
}

function elementOf(id: string): HTMLElement | null {
  return typeof document === "undefined" ? null : document.getElementById(id);
}

/** Not by way of a Blob: the browser's own process would keep it, and each step would wait for that process. */
function inflated(text: string): Promise<ArrayBuffer> {
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  // Whoever reads the bytes reports what is wrong with them.
  Promise.all([writer.write(decoded(text)), writer.close()]).catch(() => null);
  return new Response(stream.readable).arrayBuffer();
}

/** What came with a page of a server, as it stands there; null where it has to be asked for. Read once. */
function taken(id: string): HTMLElement | null {
  const element = elementOf(id);
  element?.remove();
  return element;
}

/** The same as JSON, at once. */
export function toldBeside(id: string): unknown {
  const text = taken(id)?.textContent;
  return text == null ? undefined : JSON.parse(text);
}

/** The same as bytes; compressed ones take the browser some tasks. */
export function bytesBeside(id: string): Promise<ArrayBuffer> | undefined {
  const element = taken(id);
  const text = element?.textContent;
  if (text == null) return undefined;
  return element?.getAttribute("type") === "application/gzip" ? inflated(text) : Promise.resolve(decoded(text).buffer);
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
