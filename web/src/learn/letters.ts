/**
 * A second model: a decoder that learns lines letter by letter. Its formulas are those of the slides' model with a causal
 * mask in place of hidden words, as the package writes them for `slides(hide=False)` with a causal encoder.
 */

import { operandsOf } from "../formulas/evaluator.ts";
import { LABELS, Program } from "../formulas/program.ts";
import { range } from "../numbers/arithmetic.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import type { Formula, RunRecord } from "../record/record.ts";
import { type Choice, LONGEST_LINE, type Setup, type Writes } from "./choice.ts";
import { deeper } from "./deeper.ts";

/** Where a line begins, and where it ends. */
export const END = "⏎";

interface Size {
  readonly width: number;
  readonly hidden: number;
  /** So many blocks with norms, as `slides(norm=True, feed_forward_residual=True)` has them; 0: one block without. */
  readonly normed: number;
}

const SIZES: Readonly<Record<Writes, Size>> = {
  letters: { width: 16, hidden: 64, normed: 0 },
  "letters-norms": { width: 16, hidden: 64, normed: 2 },
  "letters-large": { width: 64, hidden: 240, normed: 4 },
};

/** The lines that it begins with, letter by letter. */
export const DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map((day) => [
  ...day,
]);

export function setUpLetters(base: RunRecord, choice: Choice, writes: Writes): Setup {
  const lines = choice.sentences;
  const vocabulary = [END, ...[...new Set(lines.flat())].sort()];
  // A line is read from its beginning, and its end is the last thing to be guessed.
  const read = lines.map((letters) => [END, ...letters]);
  const width = Math.max(...read.map((row) => row.length));
  const [run, facts] = runOf(base, vocabulary, read, width, SIZES[writes]);
  const scored = run.scored_at ?? [];
  const labels = scored.map((flat) => {
    const [row, token] = [Math.floor(flat / width), flat % width];
    return vocabulary.indexOf(lines[row]?.[token] ?? END);
  });
  facts.set(LABELS, { shape: [labels.length], data: labels });
  return { choice, run, facts, added: [] };
}

/** The run that reads these rows, and what it reads. */
function runOf(
  base: RunRecord,
  vocabulary: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  size: Size,
): [RunRecord, Map<string, Tensor>] {
  const shape = [rows.length, width];
  const uneven = rows.some((row) => row.length < width);
  const cells = (make: (row: readonly string[], token: number) => number): Float64Array =>
    Float64Array.from(rows.flatMap((row) => range(width, (token) => make(row, token))));
  const facts = new Map<string, Tensor>([
    ["inputs.ids", { shape, data: cells((row, token) => Math.max(vocabulary.indexOf(row[token] ?? END), 0)) }],
    ["inputs.positions", { shape, data: cells((row, token) => Math.min(token, row.length - 1)) }],
  ]);
  const real = cells((row, token) => Number(token < row.length));
  if (uneven) facts.set("inputs.real", { shape, data: real });
  const formulas = deeper(
    base.formulas.map((formula) => causal(formula, uneven, size.width)),
    size.normed,
  );
  const scored_at = Array.from(real.keys()).filter((flat) => real[flat] === 1);
  const head = base.model.stacks[0]?.heads ?? 1;
  const run: RunRecord = {
    ...base,
    ...{ formulas, scored_at, precision: "float64", honesty: null, changes: "", editing: null, rows: {} },
    ...{ left_out: {}, unsure: {}, expected: [] },
    places: scored_at.map((flat): [number, number] => [Math.floor(flat / width), flat % width]),
    words: {
      ...base.words,
      ...{ decoder_inputs: [], vocabulary, answers: [] },
      inputs: rows.map((row) => range(width, (token) => row[token] ?? "–")),
    },
    facts: Object.fromEntries([...facts.keys()].map((name) => [name, { axes: ["sentence", "token"], side: "inputs" }])),
    weights: weightsOf(formulas, base, vocabulary.length, size),
    shared: Object.fromEntries(formulas.flatMap(({ name }) => (name.endsWith("may_look") ? [[name, { head }]] : []))),
  };
  return [run, facts];
}

/** A formula without hidden words, in which nobody looks ahead. */
function causal(formula: Formula, uneven: boolean, width: number): Formula {
  const { masked_words: _, real: _real, out_of_reach: _far, ...rule } = formula.rule;
  const real = uneven ? { real: { name: "inputs.real", axes: "sentence key" } } : {};
  if (rule.rule === "may_look") return { ...formula, rule: { ...rule, ...real, causal: true } };
  return { ...formula, rule: rule.rule === "sinusoid" ? { ...rule, width } : rule };
}

/** The shapes of the weights of a wider model: an axis is as long as what stands there. */
function weightsOf(
  formulas: readonly Formula[],
  base: RunRecord,
  letters: number,
  size: Size,
): Record<string, readonly number[]> {
  const [words = 0, width = 0] = base.weights["parameters.encoder.embed.word.weight"] ?? [];
  const [widened = 0] = base.weights["parameters.encoder.blocks.0.feed_forward.hidden.weight"] ?? [];
  const found: Record<string, readonly number[]> = {};
  for (const { rule } of formulas) {
    for (const [, { name, axes }] of operandsOf(rule)) {
      // Each block is as large as the only one of the slides' model, which has no norms.
      const shape = base.weights[name.replace(/blocks\.\d+/, "blocks.0")];
      if (/^parameters\..*\.norm\./.test(name)) found[name] = [size.width];
      if (shape === undefined) continue;
      found[name] = shape.map((own, axis) => {
        if (axis === 0 && /^(row|vocabulary) /.test(axes) && own === words) return letters;
        if (own === widened && name.includes("feed_forward")) return size.hidden;
        // Queries, keys and values of all heads together are as wide as the model.
        return own === width || !name.includes("feed_forward") ? size.width : own;
      });
    }
  }
  return found;
}

/** Writes lines with given weights: each letter is drawn from the probabilities of the letters after what stands there. */
export class Writer {
  readonly #program: Program;
  readonly #ids: Float64Array;
  readonly #vocabulary: readonly string[];

  constructor(base: RunRecord, setup: Setup) {
    const { vocabulary } = setup.run.words;
    const row = new Array<string>(LONGEST_LINE + 1).fill(END);
    const [run, facts] = runOf(base, vocabulary, [row], row.length, SIZES[setup.choice.exercise as Writes]);
    facts.set(LABELS, { shape: [row.length], data: new Float64Array(row.length) });
    this.#program = new Program(run, facts);
    this.#ids = facts.get("inputs.ids")?.data as Float64Array;
    this.#vocabulary = vocabulary;
  }

  /** One line; `draw` gives numbers from 0 up to 1, a `temperature` near 0 always takes the likeliest letter. */
  write(weights: Float64Array, draw: () => number, temperature: number): string {
    this.#program.weights.set(weights);
    this.#ids.fill(0);
    let line = "";
    for (let place = 0; place < LONGEST_LINE; place++) {
      this.#program.forward();
      const logs = this.#program.fetch("head.log_probabilities")?.data ?? [];
      const count = this.#vocabulary.length;
      const own = range(count, (id) => logs[place * count + id] ?? Number.NaN);
      const best = Math.max(...own);
      const shares = own.map((each) => Math.exp((each - best) / temperature));
      let left = draw() * shares.reduce((sum, each) => sum + each, 0);
      const drawn = shares.findIndex((share) => {
        left -= share;
        return left < 0;
      });
      if (drawn <= 0) break;
      line += this.#vocabulary[drawn];
      if (place + 1 < this.#ids.length) this.#ids[place + 1] = drawn;
    }
    return line;
  }
}
