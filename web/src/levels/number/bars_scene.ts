/** The terms of one number as rows of bars that stand under each other: operands, products, the running sum. */

import type { Measure } from "../../draw/box.ts";
import { cut } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { largestTerms } from "../../draw/terms.tsx";
import type { Factor, Term, Terms } from "../../formulas/evaluator.ts";
import type { Names, Role } from "../../formulas/names.ts";
import { largestPlaces, sumWithout } from "../../numbers/arithmetic.ts";
import { short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";

/** One row of bars; a bar that stands for a cell of a tensor leads there. */
export interface Row {
  readonly label: string;
  readonly role: Role;
  readonly values: readonly (number | null)[];
  readonly factors: readonly (Factor | null)[];
  readonly kind: "operand" | "product" | "running";
  /** Columns whose number is a fill, far below all others: it is written and not drawn. */
  readonly filled: ReadonlySet<number>;
}

export interface Bars {
  readonly rows: readonly Row[];
  /** What each column is called. */
  readonly columns: readonly string[];
  /** Which columns have their digits written. */
  readonly written: ReadonlySet<number>;
  readonly rest: { readonly count: number; readonly sum: number } | null;
}

const NONE: ReadonlySet<number> = new Set();

/** At most so many columns; of more terms the largest are drawn, and the others together as the last one. */
export const MOST = 388;

/**
 * The rows of a sum: a row for each tensor that the terms read, the product where there are several, the sum so far; with
 * what each term is called.
 */
export function barsOf(terms: Terms, names: Names, worth: string, role: Role, called: (term: Term) => string): Bars {
  const shown = largestTerms(terms, MOST);
  const left = terms.length - shown.length;
  const rest = left === 0 ? null : { count: left, sum: sumWithout(terms.values, []) - sumOf(shown) };
  const rows: Row[] = [];
  const tensors = new Set(shown.flatMap((term) => term.factors.flatMap((factor) => factor.name ?? [])));
  const apart = shown.length > 1 && shown.every((term) => named(term).length === 1) && tensors.size === shown.length;
  if (apart) {
    const factors = shown.map((term) => named(term)[0] ?? null);
    const values = factors.map((factor) => factor?.value ?? null);
    rows.push({ label: say`what is added`, role, values, factors, kind: "operand", filled: NONE });
  }
  for (const name of apart ? [] : tensors) {
    const factors = shown.map((term) => term.factors.find((factor) => factor.name === name) ?? null);
    const values = factors.map((factor) => factor?.value ?? null);
    const filled = new Set(shown.flatMap((term, at) => (term.value === 0 && (values[at] ?? 0) < -500 ? [at] : [])));
    rows.push({ label: names.title(name), role: names.role(name), values, factors, kind: "operand", filled });
  }
  const none = shown.map(() => null);
  const products = shown.some((term) => term.factors.length > 1 || term.value !== term.factors[0]?.value);
  if (products) {
    const values = shown.map((term) => term.value);
    rows.push({ label: worth, role, values, factors: none, kind: "product", filled: NONE });
  }
  let sum = 0;
  const running = shown.map((term) => {
    sum += term.value;
    return sum;
  });
  if (shown.length > 1) {
    rows.push({ label: say`running sum`, role, values: running, factors: none, kind: "running", filled: NONE });
  }
  const sizes = shown.map((term) => term.value);
  const written = new Set(largestPlaces(sizes, shown.length > 12 ? 10 : 12));
  return { rows, columns: shown.map(called), written, rest };
}

function named(term: Term): Factor[] {
  return term.factors.filter((factor) => factor.name !== null);
}

function sumOf(terms: readonly Term[]): number {
  return terms.reduce((sum, term) => sum + term.value, 0);
}

const [ROW, NOTE] = [72, 16];

export function barsScene(bars: Bars, palette: Palette, measure: Measure, width: number): Scene {
  const narrow = width < 560;
  const left = narrow ? 0 : 112;
  const above = narrow ? 18 : 0;
  const count = bars.columns.length;
  const pitch = Math.min(146, (width - left - 8) / Math.max(count, 1));
  const bar = pitch > 24 ? Math.min(72, pitch - 12) : Math.max(pitch - (pitch > 3 ? 1 : 0), 1);
  const items: Item[] = [];
  const panels: Panel[] = [];
  const digits = pitch >= 40;
  let y = drawHeads(bars, items, palette, measure, left, pitch);
  bars.rows.forEach((row, order) => {
    const tall = ROW + above;
    const [zero, unit] = axisOf(row, y + above + NOTE, ROW - 2 * NOTE);
    drawLabel(row, items, palette, measure, narrow ? y + 12 : y + ROW / 2 + 4, left);
    items.push({ x: left, y: Math.round(zero), w: pitch * count, h: 1, fill: palette.hair });
    row.values.forEach((value, column) => {
      if (value === null) return;
      if (row.filled.has(column) || !Number.isFinite(value)) {
        const x = left + pitch * (column + 0.5);
        if (digits)
          items.push({
            x,
            y: zero - 4,
            text: short(value),
            fill: palette.quiet,
            align: "center",
          });
        return;
      }
      const from = row.kind === "running" ? (row.values[column - 1] ?? 0) : 0;
      const [top, bottom] = [zero - Math.max(value, from) * unit, zero - Math.min(value, from) * unit];
      const x = left + pitch * (column + 0.5) - bar / 2;
      const strong = bars.written.has(column);
      const strength = row.kind === "running" ? 0.35 : strong ? 1 : 0.45;
      items.push({
        x,
        y: top,
        w: bar,
        h: Math.max(bottom - top, 1),
        fill: palette.cell(row.role, strength),
      });
      if (row.kind === "running" && pitch > 6) {
        const at = zero - value * unit;
        items.push({
          d: `M${x} ${at}H${x + (column === count - 1 ? bar : pitch)}`,
          stroke: palette.fill(row.role),
          line: 1,
        });
      }
      if (digits && (strong || count <= 12)) {
        // Above the bar, or below it where the line of zero would go through the digits.
        const crossed = row.kind === "running" && value < 0 && top - 14 < zero && zero < top - 2;
        const over = crossed ? bottom + 12 : row.kind !== "running" && value < 0 ? zero - 4 : top - 4;
        const text = { x: x + bar / 2, text: short(value), align: "center" } as const;
        items.push({ ...text, y: Math.max(over, y + above + 10), fill: palette.text(row.role) });
      } else if (strong && row.kind !== "running" && pitch > 3 && isPeak(row, bars.written, column, pitch)) {
        const text = { text: short(value, 2), align: "center" } as const;
        // The digits of a bar at an edge of the picture are next to its middle.
        const half = measure(text.text, 12) / 2;
        const middle = Math.min(Math.max(x + bar / 2, half), width - half);
        items.push({ ...text, x: middle, y: value < 0 ? bottom + 12 : top - 4, fill: palette.text(row.role) });
      }
    });
    panels.push({
      tensor: `#${order}`,
      ...{ x: left, y: y + above, w: pitch * count, h: ROW, rows: 1, columns: count },
      cell: (_, column) => [order, column],
      find: () => null,
    });
    y += tall;
  });
  return { width, height: y + 8, items, panels };
}

/** The digits of a bar are written where no larger one of the written bars stands within reach of its text. */
function isPeak(row: Row, written: ReadonlySet<number>, column: number, pitch: number): boolean {
  const reach = 36 / pitch;
  const size = (place: number): number => Math.abs(row.values[place] ?? 0);
  for (const other of written) {
    if (
      other !== column &&
      Math.abs(other - column) < reach &&
      (size(other) > size(column) || (size(other) === size(column) && other < column))
    )
      return false;
  }
  return true;
}

/** Where zero is and how many pixels a unit takes. */
function axisOf(row: Row, y: number, height: number): [number, number] {
  const drawn = (value: number | null, at: number): value is number => {
    return value !== null && Number.isFinite(value) && !row.filled.has(at);
  };
  const finite = row.values.filter(drawn);
  const [high, low] = [Math.max(0, ...finite), Math.min(0, ...finite)];
  const unit = high === low ? 0 : height / (high - low);
  return [y + high * unit + (high === low ? height / 2 : 0), unit];
}

function drawHeads(bars: Bars, items: Item[], palette: Palette, measure: Measure, left: number, pitch: number): number {
  if (pitch < 34) return 0;
  bars.columns.forEach((text, column) => {
    const x = left + pitch * (column + 0.5);
    items.push({
      x,
      y: 12,
      text: cut(text, pitch - 6, measure),
      fill: palette.quiet,
      align: "center",
    });
  });
  return 20;
}

function drawLabel(row: Row, items: Item[], palette: Palette, measure: Measure, y: number, left: number): void {
  const bold = row.kind === "operand";
  const text = cut(row.label, Math.max(left - 12, 90), measure);
  items.push({ x: 0, y, text, fill: palette.text(row.role), bold });
}
