/** Reads the safetensors format: an 8-byte length, a JSON header, little-endian data. */

export interface Tensor {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
  /** The type that it was read in; none for what was made in the page. */
  readonly dtype?: string;
  /** Only some rows are here: the numbers of the others are NaN. */
  readonly partial?: true;
}

interface Entry {
  readonly dtype: string;
  readonly shape: number[];
  readonly data_offsets: [number, number];
}

type Reader = (buffer: ArrayBuffer, start: number, count: number) => ArrayLike<number>;

const BYTES: Readonly<Record<string, number>> = { F64: 8, F32: 4, BF16: 2, I64: 8, I32: 4 };

const READERS: Readonly<Record<string, Reader>> = {
  F64: (buffer, start, count) => new Float64Array(aligned(buffer, start, count, 8)),
  F32: (buffer, start, count) => new Float32Array(aligned(buffer, start, count, 4)),
  BF16: (buffer, start, count) => widened(new Uint16Array(aligned(buffer, start, count, 2))),
  I64: (buffer, start, count) => Float64Array.from(new BigInt64Array(aligned(buffer, start, count, 8)), Number),
  I32: (buffer, start, count) => new Int32Array(aligned(buffer, start, count, 4)),
  U8: (buffer, start, count) => new Uint8Array(buffer, start, count),
  BOOL: (buffer, start, count) => new Uint8Array(buffer, start, count),
};

/** All tensors of a file by name; each is converted when it is first read. */
export function readTensors(buffer: ArrayBuffer): Map<string, Tensor> {
  const [header, start] = headerOf(buffer);
  const planes = metadataOf(buffer)["bytes"] === "planes, sign last";
  const found = new Map<string, Tensor>();
  for (const [name, value] of Object.entries(header)) {
    if (name !== "__metadata__") found.set(name, new Stored(value as Entry, buffer, start, planes));
  }
  return found;
}

/** The words that come with the numbers of a file. */
export function metadataOf(buffer: ArrayBuffer): Readonly<Record<string, string>> {
  const header = headerOf(buffer)[0]["__metadata__"];
  return (header ?? {}) as Record<string, string>;
}

function headerOf(buffer: ArrayBuffer): [Record<string, unknown>, number] {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return [header as Record<string, unknown>, 8 + length];
}

class Stored implements Tensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  #data: ArrayLike<number> | undefined;
  readonly #read: () => ArrayLike<number>;

  constructor(entry: Entry, buffer: ArrayBuffer, start: number, planes: boolean) {
    this.shape = entry.shape;
    this.dtype = entry.dtype;
    const reader = READERS[entry.dtype];
    if (reader === undefined) throw new Error(`numbers of the type ${entry.dtype} cannot be read`);
    const [from, count, bytes] = [start + entry.data_offsets[0], sizeOf(entry.shape), BYTES[entry.dtype] ?? 1];
    this.#read = () => {
      return planes && bytes > 1
        ? reader(joined(buffer, from, count, entry.dtype), 0, count)
        : reader(buffer, from, count);
    };
  }

  get data(): ArrayLike<number> {
    this.#data ??= this.#read();
    return this.#data;
  }
}

/** Of the bits of a number the sign is written last, so that all of its exponent is in one byte; here it is first again. */
const SIGN_FIRST: Readonly<Record<string, (whole: ArrayBuffer) => void>> = {
  F32: (whole) => each(new Uint32Array(whole), (bits) => (bits >>> 1) | (bits << 31)),
  BF16: (whole) => each(new Uint16Array(whole), (bits) => (bits >>> 1) | (bits << 15)),
};

function each(bits: Uint32Array | Uint16Array, change: (bits: number) => number): void {
  for (let at = 0; at < bits.length; at++) bits[at] = change(bits[at] ?? 0);
}

/** Numbers of which the file has the first byte of each, then the second of each: see `page/sections/carried.py`. */
function joined(buffer: ArrayBuffer, start: number, count: number, dtype: string): ArrayBuffer {
  const bytes = BYTES[dtype] ?? 1;
  const [planes, whole] = [new Uint8Array(buffer, start, count * bytes), new Uint8Array(count * bytes)];
  for (let byte = 0; byte < bytes; byte++) {
    for (let at = 0; at < count; at++) whole[at * bytes + byte] = planes[byte * count + at] ?? 0;
  }
  SIGN_FIRST[dtype]?.(whole.buffer);
  return whole.buffer;
}

/** A table of which only these rows are here. */
export function withRows(some: Tensor, rows: readonly number[], shape: readonly number[]): Tensor {
  const width = sizeOf(shape.slice(1));
  const data = new Float64Array(sizeOf(shape)).fill(Number.NaN);
  for (const [at, row] of rows.entries()) data.set(Array.from(slice(some.data, at * width, width)), row * width);
  return { shape, data, partial: true };
}

/** The bytes in memory that a typed array can view; `new Float32Array(buffer)` copies nothing more than once. */
function aligned(buffer: ArrayBuffer, start: number, count: number, bytes: number): ArrayBuffer {
  return buffer.slice(start, start + count * bytes);
}

/** bfloat16 is the upper half of a float32. */
function widened(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length);
  for (let at = 0; at < halves.length; at++) bits[at] = (halves[at] ?? 0) << 16;
  return new Float32Array(bits.buffer);
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** The number at an index along each axis. */
export function at(tensor: Tensor, index: readonly number[]): number {
  let flat = 0;
  for (let axis = 0; axis < index.length; axis++) flat = flat * (tensor.shape[axis] ?? 1) + (index[axis] ?? 0);
  const value = tensor.data[flat];
  if (value === undefined) throw new Error(`there is no number at [${index.join(", ")}]`);
  return value;
}

/** Some of many numbers, without a copy where that can be. */
export function slice(data: ArrayLike<number>, start: number, length: number): ArrayLike<number> {
  if (ArrayBuffer.isView(data)) return (data as Float64Array).subarray(start, start + length);
  return Array.prototype.slice.call(data, start, start + length) as number[];
}
