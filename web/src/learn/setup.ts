/** What a training in the page begins with: the reader's sentences, the words that are hidden, and the slides' formulas. */

import { isOperand, operandsOf } from "../formulas/evaluator.ts";
import { LABELS } from "../formulas/program.ts";
import { range } from "../numbers/arithmetic.ts";
import type { Tensor } from "../numbers/safetensors.ts";
import type { Formula, Operand, Rule, RunRecord } from "../record/record.ts";
import { type Choice, type Exercise, isWriter, refusal, type Setup } from "./choice.ts";
import { setUpLetters } from "./letters.ts";

/** `base` is a run of the slides' model; throws where the choice is to be refused. */
export function setUp(base: RunRecord, choice: Choice): Setup {
  const wrong = refusal(choice);
  if (wrong !== "") throw new Error(wrong);
  if (isWriter(choice.exercise)) return setUpLetters(base, choice, choice.exercise);
  const { sentences, hidden, exercise } = choice;
  const known = base.words.vocabulary;
  const added = [...new Set(sentences.flat())].filter((word) => !known.includes(word));
  const vocabulary = [...known, ...added];
  const width = Math.max(...sentences.map((words) => words.length));
  const cells = (make: (words: readonly string[], token: number, sentence: number) => number): number[] =>
    sentences.flatMap((words, sentence) => range(width, (token) => make(words, token, sentence)));
  const isHidden = (token: number, sentence: number): boolean => hidden[sentence]?.includes(token) === true;
  const seen = exercise === "nothing-hidden";
  const shape = [sentences.length, width];
  const uneven = sentences.some((words) => words.length < width);
  const masks = cells((_, token, sentence) => Number(isHidden(token, sentence)));
  const ids = cells((words, token) => Math.max(vocabulary.indexOf(words[token] ?? ""), 0));
  const scored_at = masks.flatMap((mask, flat) => (mask === 1 ? [flat] : []));
  const facts = new Map<string, Tensor>([
    // In place of a hidden word the model is given the first word of its table, and does not look at it.
    ["inputs.ids", { shape, data: ids.map((id, flat) => (masks[flat] === 1 && !seen ? 0 : id)) }],
    ["inputs.masked_words", { shape, data: seen ? masks.map(() => 0) : masks }],
    [LABELS, { shape: [scored_at.length], data: scored_at.map((flat) => ids[flat] ?? 0) }],
  ]);
  if (uneven) facts.set("inputs.real", { shape, data: cells((words, token) => Number(token < words.length)) });
  // Padding shares the position of the last word.
  const counted = uneven ? cells((words, token) => Math.min(token, words.length - 1)) : range(width);
  facts.set("inputs.positions", { shape: uneven ? shape : [1, width], data: counted });
  const formulas = base.formulas.flatMap((formula) => formulaOf(formula, exercise, uneven));
  const places = scored_at.map((flat): [number, number] => [Math.floor(flat / width), flat % width]);
  const answers = places.map(([sentence, token]): [number, number, string] => {
    return [sentence, token, sentences[sentence]?.[token] ?? ""];
  });
  const shown = sentences.map((words) => [...words, ...new Array<string>(width - words.length).fill("–")]);
  const ofAll: Record<string, number> = uneven ? {} : { sentence: sentences.length };
  const looks = formulas.filter(({ name }) => name.endsWith("may_look")).map(({ name }) => name);
  const run: RunRecord = {
    ...base,
    ...{ formulas, scored_at, places, precision: "float64", honesty: null, changes: "", editing: null, rows: {} },
    ...{ left_out: {}, unsure: {}, expected: [] },
    model: { ...base.model, parameters: 0 },
    words: { ...base.words, inputs: shown, decoder_inputs: [], vocabulary, answers: seen ? [] : answers },
    facts: Object.fromEntries([...facts.keys()].flatMap((name) => (name === LABELS ? [] : [[name, OF_WORDS]]))),
    weights: weightsOf(formulas, base, vocabulary.length),
    shared: {
      "inputs.positions": ofAll,
      "encoder.embed.position": ofAll,
      ...Object.fromEntries(looks.map((name) => [name, { query: width, head: base.model.stacks[0]?.heads ?? 1 }])),
    },
  };
  return { choice, run, facts, added };
}

const OF_WORDS = { axes: ["sentence", "token"], side: "inputs" };

/** The weights that the formulas read; a table of words has a row for each word. */
function weightsOf(formulas: readonly Formula[], base: RunRecord, words: number): Record<string, readonly number[]> {
  const found: Record<string, readonly number[]> = {};
  for (const { rule } of formulas) {
    for (const [, { name, axes }] of operandsOf(rule)) {
      const shape = base.weights[name];
      if (shape !== undefined) found[name] = /^(row|vocabulary) /.test(axes) ? [words, ...shape.slice(1)] : shape;
    }
  }
  return found;
}

/** A formula as this exercise has it: as `glassformer` writes it for a model with that setting. None: it is left out. */
function formulaOf(formula: Formula, exercise: Exercise, uneven: boolean): Formula[] {
  const { masked_words: _, real: _real, out_of_reach: _far, ...rule } = formula.rule;
  const masked = (axes: string): Rule => ({ ...rule, masked_words: { name: "inputs.masked_words", axes } });
  const real = uneven ? { real: { name: "inputs.real", axes: "sentence key" } } : {};
  const after = exercise === "zero-after";
  const changed = (other: Rule): Formula[] => [{ ...formula, rule: other }];
  if (rule.rule === "look_up") return changed(after ? rule : masked("sentence token"));
  if (rule.rule === "may_look") return changed({ ...masked("sentence key"), ...real });
  if (rule.rule === "fill_set" || rule.rule === "fill_add")
    return changed({ ...rule, ...real, ...(uneven ? { out_of_reach: "-inf" } : {}) });
  if (rule.rule === "sinusoid") return exercise === "no-positions" ? [] : [formula];
  if (formula.name === "encoder.embed.sum") {
    const terms = rule["terms"] as Readonly<Record<string, Operand>>;
    const { position: _position, ...others } = terms;
    const sum = exercise === "no-positions" ? { ...rule, terms: others } : rule;
    return changed(after ? { ...sum, masked_words: { name: "inputs.masked_words", axes: "sentence token" } } : sum);
  }
  return exercise === "one-head" ? changed(withOneHead(rule)) : changed(rule);
}

/** The same weights, read as one head that is as wide as all of them together. */
function withOneHead(rule: Rule): Rule {
  const fields = Object.entries(rule).map(([field, value]) => {
    return [field, isOperand(value) ? { ...value, axes: value.axes.replace(/\(head:\d+ /, "(head:1 ") } : value];
  });
  return Object.fromEntries(fields) as Rule;
}
