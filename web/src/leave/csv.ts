/**
 * Tensors as CSV, as a spreadsheet opens it: UTF-8 with its mark, commas, lines that end with CR LF.
 *
 * A word is text of a stranger. One that begins with =, +, -, @ or a tab would be a formula to a spreadsheet: an
 * apostrophe is put before it, also after a separator within the word, since programs of other countries separate by
 * semicolons.
 */

import type { Names } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import { sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { digits, grouped } from "../numbers/written.ts";
import { say } from "../words/say.ts";

/** What a spreadsheet has of rows. */
export const MOST_ROWS = 1_048_576;
const MARK = "\ufeff";

type Precision = "float32" | "float64";

/** One sheet: a row for each step of `rows`, a column for each step of `columns`, the other axes as in `base`. */
export function sheetCsv(
  name: string,
  tensor: Tensor,
  layout: { readonly rows: string | null; readonly columns: string | null },
  base: readonly number[],
  names: Names,
): string {
  const axes = names.axes(name);
  const [down, along] = [place(axes, layout.rows), place(axes, layout.columns)];
  const count = (axis: number): number => (axis < 0 ? 1 : (tensor.shape[axis] ?? 1));
  const strides = tensor.shape.map((_, axis) => sizeOf(tensor.shape.slice(axis + 1)));
  const cell = base.map((index, axis) => (axis === down || axis === along ? 0 : index));
  const start = cell.reduce((sum, index, axis) => sum + index * (strides[axis] ?? 0), 0);
  const columns = labels(name, tensor, along, base, names);
  const rows = labels(name, tensor, down, base, names);
  const corner = [layout.rows, layout.columns].filter((axis) => axis !== null).join(" \\ ");
  const lines = [[corner, ...columns].map(word)];
  const { precision } = names.run;
  for (let row = 0; row < count(down); row++) {
    const line = [word(rows[row] ?? "")];
    for (let column = 0; column < count(along); column++) {
      const flat = start + row * (strides[down] ?? 0) + column * (strides[along] ?? 0);
      line.push(number(tensor.data[flat] ?? Number.NaN, precision));
    }
    lines.push(line);
  }
  return written(lines);
}

/** One row a cell: its index along each axis, the word there, and the number. */
export function cellsCsv(name: string, tensor: Tensor, names: Names): string {
  const axes = names.axes(name);
  const size = sizeOf(tensor.shape);
  if (size >= MOST_ROWS) {
    throw new Error(
      say`a spreadsheet has ${grouped(MOST_ROWS)} rows, this tensor ${grouped(size)} numbers: ` +
        say`save one sheet of it, or safetensors`,
    );
  }
  const sentence = axes.indexOf("sentence");
  // Whose labels an axis bears may depend on the sentence: they are made once for each.
  const made = range(sentence < 0 ? 1 : (tensor.shape[sentence] ?? 1), (row) => {
    const base = axes.map((_, axis) => (axis === sentence ? row : 0));
    return axes.map((_, axis) => labels(name, tensor, axis, base, names));
  });
  const named = axes.map((_, axis) => made.some((each) => each[axis]?.some((label, at) => label !== String(at))));
  const head = axes.flatMap((axis, at) => (named[at] === true ? [say`${axis} index`, axis] : [axis]));
  const lines = [[...head, "value"].map(word)];
  const index = axes.map(() => 0);
  for (let flat = 0; flat < size; flat++) {
    let left = flat;
    for (let axis = axes.length - 1; axis >= 0; axis--) {
      const count = tensor.shape[axis] ?? 1;
      index[axis] = left % count;
      left = Math.floor(left / count);
    }
    const own = made[sentence < 0 ? 0 : (index[sentence] ?? 0)];
    const line = axes.flatMap((_, axis) => {
      const step = index[axis] ?? 0;
      return named[axis] === true ? [String(step), word(own?.[axis]?.[step] ?? "")] : [String(step)];
    });
    line.push(number(tensor.data[flat] ?? Number.NaN, names.run.precision));
    lines.push(line);
  }
  return written(lines);
}

/** What the steps of an axis are called; a word that comes twice is `likes@3`, as everywhere in glassformer. */
function labels(name: string, tensor: Tensor, axis: number, base: readonly number[], names: Names): string[] {
  if (axis < 0) return ["value"];
  const axes = names.axes(name);
  const sentence = base[axes.indexOf("sentence")] ?? 0;
  const found = range(tensor.shape[axis] ?? 1, (step) => {
    return names.label(name, axes[axis] ?? "", step, sentence).text;
  });
  const counts = new Map<string, number>();
  for (const label of found) counts.set(label, (counts.get(label) ?? 0) + 1);
  return found.map((label, step) => ((counts.get(label) ?? 0) > 1 ? `${label}@${step}` : label));
}

function place(axes: readonly string[], axis: string | null): number {
  return axis === null ? -1 : axes.indexOf(axis);
}

/** As few digits as give the same number again; infinities as every reader of CSV knows them. */
function number(value: number, precision: Precision): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value < 0 ? "-inf" : "inf";
  return digits(value, precision);
}

const FORMULA = /(^|[,;\t\r\n"'|])(?=[=+\-@\t\r\n＝＋－＠])/gu;

/** A word as a field: never a formula, and always in quotes, so that no comma within it begins another field. */
export function word(text: string): string {
  return `"${text.replace(FORMULA, "$1'").replaceAll('"', '""')}"`;
}

function written(lines: readonly (readonly string[])[]): string {
  return `${MARK}${lines.map((line) => line.join(",")).join("\r\n")}\r\n`;
}
