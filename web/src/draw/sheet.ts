/** One tensor as sheets of rows and columns: which axes stand where, and how strongly each cell is coloured. */

import { isOperand } from "../formulas/evaluator.ts";
import { lastOf, type Names, type Role } from "../formulas/names.ts";
import { Dots, isPartial, LIFT, numberAt } from "../numbers/dots.ts";
import { sizeOf, type Tensor } from "../numbers/safetensors.ts";

/** Which axis goes down, which goes right, which makes several sheets, and which goes into the depth. */
export interface Arrangement {
  readonly rows: string | null;
  readonly columns: string | null;
  readonly sheets: string | null;
  readonly depth: string | null;
}

const ROW_AXES = ["token", "query", "place", "candidate", "key"];

/** How the axes of a tensor are laid out when nothing else is asked for. */
export function arrangement(axes: readonly string[]): Arrangement {
  const sheets = axes.find((axis) => axis === "head" || axis === "key_value_head") ?? null;
  const rest = axes.filter((axis) => axis !== sheets);
  // A table of weights as in x · W: a row for each number that goes in. Words and labels stay rows, to be read.
  const table = rest[1] === "input" && !/^(vocabulary|label)$/.test(rest[0] ?? "");
  const rows = table ? "input" : (ROW_AXES.find((axis) => rest.includes(axis)) ?? rest[0] ?? null);
  const columns = rest.filter((axis) => axis !== rows && axis !== "sentence").at(-1) ?? null;
  const depth = rows !== "sentence" && axes.includes("sentence") ? "sentence" : null;
  return { rows, columns, sheets, depth };
}

/** Shares raised to the power by which small numbers are lifted: a picture has hundreds of thousands of them. */
const SHARES = 4096;
const LIFTED = Float32Array.from({ length: SHARES + 1 }, (_, step) => (step / SHARES) ** LIFT);

/** A number so many times beyond the scale is a fill, no score. */
const FAR = 4;

/** How a cell is drawn: see `Sheet.paint`. */
export interface Painted {
  readonly role: Role;
  readonly strength: number;
  readonly value: number;
  readonly crossed: boolean;
}

interface Grid {
  readonly data: ArrayLike<number>;
  readonly start: number;
  readonly down: number;
  readonly along: number;
  readonly hiddenRows: readonly boolean[];
  readonly hiddenColumns: readonly boolean[];
}

/** A tensor with its names, ready to be drawn. */
export class Sheet {
  readonly name: string;
  readonly tensor: Tensor;
  readonly axes: readonly string[];
  readonly names: Names;
  readonly role: Role;
  readonly scale: number;
  readonly #rows: number;
  readonly #columns: number;
  readonly #filled: boolean;
  readonly #last: string;
  /** Along which axes hidden words are red. */
  readonly #hides = new Map<string, boolean>();
  readonly #strengths = new Map<boolean, Float64Array>();

  constructor(name: string, tensor: Tensor, names: Names, layout: Arrangement, scale = scaleOf(name, tensor)) {
    this.name = name;
    this.tensor = tensor;
    this.names = names;
    this.axes = names.axes(name);
    this.role = names.role(name);
    this.#last = lastOf(name);
    this.scale = scale;
    this.layout = layout;
    this.#filled = names.formulas.get(name)?.rule.rule.startsWith("fill_") === true;
    this.#rows = layout.rows === null ? -1 : this.axes.indexOf(layout.rows);
    this.#columns = layout.columns === null ? -1 : this.axes.indexOf(layout.columns);
  }

  readonly layout: Arrangement;

  size(axis: string | null): number {
    return axis === null ? 1 : (this.tensor.shape[this.axes.indexOf(axis)] ?? 1);
  }

  get rows(): number {
    return this.size(this.layout.rows);
  }

  get columns(): number {
    return this.size(this.layout.columns);
  }

  /** The cell at a row and column of the sheet on which `base` lies. */
  cell(base: readonly number[], row: number, column: number): number[] {
    const found = [...base];
    if (this.#rows >= 0) found[this.#rows] = row;
    if (this.#columns >= 0) found[this.#columns] = column;
    return found;
  }

  value(cell: readonly number[]): number {
    return numberAt(this.tensor, cell);
  }

  /** How many rows and columns `each` meets: fewer than there are where the sheet is drawn from a picture. */
  get drawn(): { readonly rows: number; readonly columns: number } {
    const { shape } = this.tensor instanceof Dots ? this.tensor.dots : this.tensor;
    return { rows: shape[this.#rows] ?? 1, columns: shape[this.#columns] ?? 1 };
  }

  /** A first cell: along each axis 0, or what is given; an axis shared by all has the one index 0. */
  base(given: Readonly<Record<string, number>>): number[] {
    return this.axes.map((axis, place) => {
      const size = this.tensor.shape[place] ?? 1;
      return Math.min(given[axis] ?? 0, size - 1);
    });
  }

  /** Where the drawn cells of one sheet stand in what it is drawn from, and which of its rows and columns are red. */
  grid(base: readonly number[], sentence: number): Grid {
    const drawn = this.tensor instanceof Dots ? this.tensor.dots : this.tensor;
    const { rows, columns } = this.drawn;
    return {
      data: drawn.data,
      ...this.#places(base, drawn.shape),
      hiddenRows: this.#hidden(this.layout.rows, rows, sentence),
      hiddenColumns: this.#hidden(this.layout.columns, columns, sentence),
    };
  }

  /** How strongly what is stored for a cell is coloured: of a picture's bytes each is worked out once. */
  strengthOf(hidden: boolean): (stored: number) => number {
    const { tensor } = this;
    const made = (value: number): number => (hidden ? this.hiddenStrength(value) : this.strength(value));
    if (!(tensor instanceof Dots)) return made;
    const known = this.#strengths.get(hidden) ?? Float64Array.from(tensor.table, made);
    this.#strengths.set(hidden, known);
    return (stored) => known[stored] ?? 0;
  }

  /** Where the first cell of a sheet stands among the numbers, and how far on the next row and the next column are. */
  #places(base: readonly number[], shape: readonly number[]): { start: number; down: number; along: number } {
    const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
    const start = this.cell(base, 0, 0).reduce((sum, index, axis) => {
      const [whole, drawn] = [this.tensor.shape[axis] ?? 1, shape[axis] ?? 1];
      return sum + Math.floor((index * drawn) / whole) * (strides[axis] ?? 0);
    }, 0);
    return { start, down: strides[this.#rows] ?? 0, along: strides[this.#columns] ?? 0 };
  }

  /** Which of the drawn rows or columns stand for a hidden word; empty where none can. */
  #hidden(axis: string | null, drawn: number, sentence: number): boolean[] {
    const found: boolean[] = [];
    if (!this.#mayHide(axis)) return found;
    const size = this.size(axis);
    for (let index = 0; index < size; index++) {
      if (this.hides(axis, index, sentence)) found[Math.floor((index * drawn) / size)] = true;
    }
    return found;
  }

  #mayHide(axis: string | null): axis is string {
    if (axis === null) return false;
    let may = this.#hides.get(axis);
    if (may === undefined) {
      may = this.names.hides(this.name, axis);
      this.#hides.set(axis, may);
    }
    return may;
  }

  /** Whether a row or a column is a masked word that nothing has filled yet. */
  hides(axis: string | null, index: number, sentence: number): boolean {
    return this.#mayHide(axis) && this.names.label(this.name, axis, index, sentence).hidden;
  }

  /**
   * A cell's role and strength from 0 to 1: its size as a share of the tensor's largest, small ones lifted; `crossed` =
   * a line goes through it, for the word is hidden or looking is forbidden: colour alone would not say so.
   */
  paint(cell: readonly number[], sentence: number): Painted {
    const row = this.#rows < 0 ? 0 : (cell[this.#rows] ?? 0);
    const column = this.#columns < 0 ? 0 : (cell[this.#columns] ?? 0);
    const hidden = this.hides(this.layout.rows, row, sentence) || this.hides(this.layout.columns, column, sentence);
    return this.#painted(this.value(cell), hidden);
  }

  /** The same for the cells of one sheet by row and column: what does not differ between them is looked up once. */
  painter(base: readonly number[], sentence: number): (row: number, column: number) => Painted {
    const { tensor } = this;
    const hiddenRows = this.#hidden(this.layout.rows, this.rows, sentence);
    const hiddenColumns = this.#hidden(this.layout.columns, this.columns, sentence);
    const red = (row: number, column: number): boolean => hiddenRows[row] === true || hiddenColumns[column] === true;
    if (isPartial(tensor)) {
      return (row, column) => this.#painted(tensor.value(this.cell(base, row, column)), red(row, column));
    }
    const { data } = tensor;
    const { start, down, along } = this.#places(base, tensor.shape);
    return (row, column) => this.#painted(data[start + row * down + column * along] ?? NaN, red(row, column));
  }

  #painted(value: number, hidden: boolean): Painted {
    if (hidden) return { role: "hidden", strength: this.hiddenStrength(value), value, crossed: true };
    const crossed = this.#forbidden(value);
    return { role: this.role, strength: crossed ? 0 : this.strength(value), value, crossed };
  }

  /** Whether this number says that a query may not look at a key. */
  #forbidden(value: number): boolean {
    if (this.#last === "may_look") return value === 0;
    return this.#filled && (!Number.isFinite(value) || Math.abs(value) > this.scale * FAR);
  }

  /** A word that was zeroed stands as solid red; a weight that was masked as pale red: nothing passes there. */
  private hiddenStrength(value: number): number {
    const absent = value === 0 || !Number.isFinite(value) || Math.abs(value) > this.scale * FAR;
    if (!absent) return this.strength(value);
    return this.#last === "word" ? 1 : 0.06;
  }

  strength(value: number): number {
    if (!Number.isFinite(value) || this.scale === 0 || this.#forbidden(value)) return 0;
    return LIFTED[Math.round(Math.min(Math.abs(value) / this.scale, 1) * SHARES)] ?? 0;
  }
}

/** Whether a row or a column of a sheet is that of a masked word. */
export function hasHidden(sheet: Sheet, sentence: number): boolean {
  return [sheet.layout.rows, sheet.layout.columns].some((axis) => {
    return Array.from({ length: sheet.size(axis) }).some((_, index) => sheet.hides(axis, index, sentence));
  });
}

/** A tensor's sheet, its scores measured by what they were before the fill. */
export function sheetOf(name: string, names: Names, fetch: (name: string) => Tensor | undefined): Sheet | null {
  const tensor = fetch(name);
  if (tensor === undefined) return null;
  const rule = names.formulas.get(name)?.rule;
  const before = rule?.["x"];
  const filled = rule?.rule.startsWith("fill_") === true && isOperand(before) ? before : null;
  const other = filled === null ? undefined : fetch(filled.name);
  const scale = filled === null || other === undefined ? scaleOf(name, tensor) : scaleOf(filled.name, other);
  return new Sheet(name, tensor, names, arrangement(names.axes(name)), scale);
}

const scales = new WeakMap<Tensor, number>();

/** How many numbers are looked at for the scale of a large tensor, and which share of them may lie beyond it. */
const [LOOKED_AT, BEYOND] = [4096, 0.005];

/**
 * What counts as full strength: the largest size of a tensor's numbers; of a large tensor a size that few exceed, so that
 * one outlier does not make all others pale; 1 for shares, so that they can be compared.
 */
function scaleOf(name: string, tensor: Tensor): number {
  if (["weights", "probabilities", "may_look"].includes(lastOf(name))) return 1;
  if (tensor instanceof Dots) return tensor.scale;
  let found = scales.get(tensor);
  if (found === undefined) {
    const every = Math.max(1, Math.floor(tensor.data.length / LOOKED_AT));
    const sizes = new Float64Array(every === 1 ? 0 : Math.ceil(tensor.data.length / every));
    let [count, largest] = [0, 0];
    for (let place = 0; place < tensor.data.length; place += every) {
      const size = Math.abs(tensor.data[place] ?? 0);
      if (!(size < 1e30)) continue;
      if (size > largest) largest = size;
      sizes[count++] = size;
    }
    const sorted = sizes.subarray(0, count).sort();
    found = every === 1 ? largest : (sorted.at(-1 - Math.floor(count * BEYOND)) ?? 0);
    scales.set(tensor, found);
  }
  return found;
}
