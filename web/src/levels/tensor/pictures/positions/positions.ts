/** Vectors of positions, at any position: by the formula of the run's own tensor, or from its learned table. */

import type { Sheet } from "../../../../draw/sheet.ts";
import { Evaluator, type Factor, Fields, isOperand, type Term, type Working } from "../../../../formulas/evaluator.ts";
import { RULES } from "../../../../formulas/interpreter.ts";
import { at as numberAt, type Tensor } from "../../../../numbers/safetensors.ts";
import type { Cell } from "../../../../record/axes.ts";
import type { Formula, Rule } from "../../../../record/record.ts";
import type { Store } from "../../../../run/store.ts";
import { say } from "../../../../words/say.ts";

/** Three ways to lay sines and cosines out over the channels, as the rule calls them. */
export const LAYOUTS: readonly (readonly [string, string])[] = [
  ["paper", say`in turn`],
  ["halves", say`halves`],
  ["tensor2tensor", "tensor2tensor"],
];

/** How many positions are drawn of a formula that knows no last one, and at most of a table. */
const [DRAWN, MOST] = [64, 512];

/** A vector for each position. */
export interface Encoding {
  readonly kind: "waves" | "learned";
  readonly width: number;
  readonly positions: number;
  readonly layout: string;
  /** Whether these are the run's own numbers and not those of the same formula with other settings. */
  readonly own: boolean;
  at(position: number, channel: number): number;
  /** How a number came about: of the formula the angle, of a table nothing. */
  term(position: number, channel: number): Term;
  /** The number as an operand: a cell of the run where it has one. */
  factor(position: number, channel: number): Factor;
  /** The token of the sentence that stands at a position, or −1. */
  token(position: number): number;
}

/** Whether a tensor holds a vector for each position. */
export function isEncoding({ name, names, axes }: Sheet): boolean {
  const rule = names.formulas.get(name)?.rule.rule;
  return rule === "sinusoid" || (rule === "look_up" && name.endsWith(".position") && axes.includes("channel"));
}

/** The tensors that are read for an encoding. */
export function readFor(sheet: Sheet): string[] {
  const rule = sheet.names.formulas.get(sheet.name)?.rule ?? { rule: "" };
  return ["position", "index", "table"].flatMap((role) => {
    const operand = rule[role];
    return isOperand(operand) ? [operand.name] : [];
  });
}

/** Other settings for the same formula. */
export interface Settings {
  readonly layout?: string;
  readonly width?: number;
}

/** The encoding that a tensor belongs to; null while its operands are not at hand. */
export function encodingOf(sheet: Sheet, store: Store, sentence: number, settings: Settings = {}): Encoding | null {
  const formula = sheet.names.formulas.get(sheet.name);
  const [read = "", table] = readFor(sheet);
  const places = store.fetch(read);
  if (formula === undefined || places === undefined) return null;
  const tokens = tokensAt(places, sentence);
  const cellOf = (token: number, channel: number): number[] => {
    return sheet.cell(sheet.base({ sentence }), token, channel);
  };
  if (table !== undefined) {
    const rows = store.fetch(table);
    return learned(formula, rows, table, tokens, sheet, cellOf);
  }
  const rule: Rule = { ...formula.rule, ...settings };
  const fields = new Fields(rule);
  const [width, layout] = [fields.number("width"), fields.text("layout")];
  const own = width === formula.rule["width"] && layout === formula.rule["layout"];
  const positions = Math.min(Math.max(DRAWN, ...[...tokens.keys()].map((position) => position + 1)), MOST);
  const value = waves({ ...formula, rule }, store);
  const known = new Map<number, number>();
  const token = (position: number): number => tokens.get(position) ?? -1;
  const at = (position: number, channel: number): number => {
    // A position may be a fraction: between two words the curve goes on.
    const key = channel * MOST + position;
    let found = known.get(key);
    if (found === undefined) {
      found = value(position, channel).value;
      known.set(key, found);
    }
    return found;
  };
  const factor = (position: number, channel: number): Factor => {
    const index = cellOf(token(position), channel);
    if (!own || token(position) < 0) return { name: null, index: [], value: at(position, channel) };
    return { name: sheet.name, index, value: sheet.value(index) };
  };
  return { kind: "waves", width, positions, layout, own, at, term: value, factor, token };
}

/** A formula at cells that its tensor need not have; what it reads may be given in place of the run's own. */
export function worked(
  formula: Formula,
  store: Store,
  given: Readonly<Record<string, Tensor>> = {},
): (cell: Cell) => Working {
  const rule = RULES[formula.rule.rule];
  if (rule === undefined) throw new Error(`this page knows no rule ${formula.rule.rule}`);
  const fields = new Fields(formula.rule);
  const evaluator = new Evaluator(formula, (name) => given[name] ?? store.fetch(name), store.names.run);
  return (cell) => rule(fields, evaluator, cell);
}

/** The formula of sines at positions that no text need have: its rule reads a table of positions of our own. */
function waves(formula: Formula, store: Store): (position: number, channel: number) => Term {
  const place = { shape: [1, 1], data: [0] };
  const work = worked(formula, store, { [new Fields(formula.rule).operand("position").name]: place });
  return (position, channel) => {
    place.data[0] = position;
    const [term] = work({ sentence: 0, token: 0, channel }).terms;
    if (term === undefined) throw new Error(`${formula.rule.rule} gives no term`);
    return term;
  };
}

/** A learned table; where the page does not carry it, the rows of the words of this text. */
function learned(
  formula: Formula,
  rows: Tensor | undefined,
  table: string,
  tokens: ReadonlyMap<number, number>,
  sheet: Sheet,
  cellOf: (token: number, channel: number) => number[],
): Encoding {
  const offset = new Fields(formula.rule).number("offset");
  const token = (position: number): number => tokens.get(position) ?? -1;
  const count = rows?.shape[0] ?? Math.max(...tokens.keys()) + 1 + offset;
  const width = sheet.size("channel");
  const at = (position: number, channel: number): number => {
    if (rows !== undefined) return numberAt(rows, [position + offset, channel]);
    return token(position) < 0 ? 0 : sheet.value(cellOf(token(position), channel));
  };
  const factor = (position: number, channel: number): Factor => {
    const here = token(position);
    if (here < 0) return { name: table, index: [position + offset, channel], value: at(position, channel) };
    const index = cellOf(here, channel);
    return { name: sheet.name, index, value: sheet.value(index) };
  };
  return {
    ...{ kind: "learned", width, positions: Math.min(count - offset, MOST), layout: "", own: true },
    ...{ at, factor, token },
    term: (position, channel) => ({
      what: `row ${position + offset}`,
      factors: [{ name: table, index: [position + offset, channel], value: at(position, channel) }],
      value: at(position, channel),
    }),
  };
}

function tokensAt(places: Tensor, sentence: number): Map<number, number> {
  const [rows = 1, count = 0] = places.shape;
  const found = new Map<number, number>();
  for (let token = 0; token < count; token++) {
    const position = places.data[Math.min(sentence, rows - 1) * count + token] ?? token;
    if (!found.has(position)) found.set(position, token);
  }
  return found;
}

/** How alike two positions are. */
export type Measure = "distance" | "product" | "cosine";

export const MEASURES: readonly (readonly [Measure, string])[] = [
  ["distance", say`distance`],
  ["product", say`dot product`],
  ["cosine", say`cosine`],
];

/** The measure of two positions, from the numbers of the encoding. */
export function compared(
  { at, width }: Pick<Encoding, "at" | "width">,
  one: number,
  two: number,
  measure: Measure,
): number {
  let [product, apart, first, second] = [0, 0, 0, 0];
  for (let channel = 0; channel < width; channel++) {
    const [a, b] = [at(one, channel), at(two, channel)];
    product += a * b;
    apart += (a - b) ** 2;
    first += a * a;
    second += b * b;
  }
  if (measure === "distance") return Math.sqrt(apart);
  return measure === "product" ? product : product / Math.sqrt(first * second);
}

/** The first offset from a position at which the distance falls; null where it grows throughout. */
export function firstFall(encoding: Encoding, from: number): number | null {
  let before = 0;
  for (let offset = 1; from + offset < encoding.positions; offset++) {
    const distance = compared(encoding, from, from + offset, "distance");
    if (distance < before) return offset;
    before = distance;
  }
  return null;
}
