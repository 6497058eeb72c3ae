/** Writes one tensor in the safetensors format, in the type that it has in the run, bit for bit. */

import type { Tensor } from "../numbers/safetensors.ts";
import type { RunRecord } from "./record.ts";

export type Dtype = "F64" | "F32" | "I64" | "U8" | "BOOL";

/** The type of a tensor in the run. A page carries it in a narrower one where that loses nothing. */
export function dtypeOf(tensor: Tensor, run: RunRecord): Dtype {
  const { dtype, data } = tensor;
  if (dtype === "BOOL" || dtype === "U8") return dtype;
  if (dtype === "I64" || dtype === "I32") return "I64";
  if (dtype === undefined && data instanceof Int32Array) return "I64";
  return run.precision === "float64" ? "F64" : "F32";
}

/** The file: an 8-byte length, a JSON header padded with blanks so that the numbers begin at a multiple of 8, the numbers. */
export function writeTensor(
  name: string,
  tensor: Tensor,
  dtype: Dtype,
  metadata: Readonly<Record<string, string>>,
): Blob {
  const bytes = bytesOf(tensor.data, dtype);
  const entry = { dtype, shape: tensor.shape, data_offsets: [0, bytes.byteLength] };
  const header = new TextEncoder().encode(JSON.stringify({ __metadata__: metadata, [name]: entry }));
  const padding = (8 - (header.length % 8)) % 8;
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(header.length + padding), true);
  return new Blob([length.buffer, header, " ".repeat(padding), bytes], { type: "application/octet-stream" });
}

/** Where the numbers are of this type already, their very bits: a NaN has some of its own. */
function bytesOf(data: ArrayLike<number>, dtype: Dtype): ArrayBufferView<ArrayBuffer> {
  switch (dtype) {
    case "F64":
      return data instanceof Float64Array ? new Float64Array(data) : Float64Array.from(data);
    case "F32":
      return data instanceof Float32Array ? new Float32Array(data) : Float32Array.from(data);
    case "I64":
      return BigInt64Array.from(Array.from(data, BigInt));
    default:
      return Uint8Array.from(data);
  }
}
