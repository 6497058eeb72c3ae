/** Rules of a conditional random field, label after label: see `look/formulas/rules/chains.py`. */

import { exactSum, range } from "../../numbers/arithmetic.ts";
import type { Cell } from "../../record/axes.ts";
import type { Operand } from "../../record/record.ts";
import { type Compute, type Evaluator, type Fields, plain, step, type Term, type Working } from "../evaluator.ts";

type Over = (numbers: readonly number[]) => number;

const largest: Over = (numbers) => numbers.reduce((one, two) => Math.max(one, two), -Infinity);

const logOfSum: Over = (numbers) => {
  const most = largest(numbers);
  return most + Math.log(exactSum(numbers.map((number) => Math.exp(number - most))));
};

/** Which tokens of the sentence are labelled. */
function labelledTokens(rule: Fields, tensors: Evaluator, cell: Cell): boolean[] {
  const labelled = rule.operand("labelled");
  return range(tensors.size(labelled, "token"), (token) => {
    return tensors.value(labelled, { ...cell, token }) !== 0;
  });
}

function chain(rule: Fields, tensors: Evaluator, cell: Cell, over: Over): Working {
  const [before, steps] = [rule.operand("before"), rule.operand("steps")];
  const known = labelledTokens(rule, tensors, cell);
  const token = step(cell, "token");
  if (known[token] !== true) {
    if (token === 0) return { terms: [], result: 0, quantities: {} };
    const kept = tensors.factor(before, { ...cell, token: token - 1, before: step(cell, "label") });
    const term = { what: "not labelled: as before", factors: [kept], value: kept.value };
    return { terms: [term], result: kept.value, quantities: {} };
  }
  const own = tensors.factor(rule.operand("x"), cell);
  const logit = { what: "logit", factors: [own], value: own.value };
  if (!known.slice(0, token).includes(true)) {
    const first = tensors.factor(rule.operand("first"), cell);
    const terms = [{ what: "first label", factors: [first], value: first.value }, logit];
    return { terms, result: first.value + own.value, quantities: {} };
  }
  const terms: Term[] = [];
  for (let label = 0; label < tensors.size(steps, "before"); label++) {
    const way = { ...cell, before: label };
    const factors = [tensors.factor(before, { ...way, token: token - 1 }), tensors.factor(steps, way)];
    terms.push({ what: `label ${label}`, factors, value: exactSum(factors.map((each) => each.value)), added: true });
  }
  const ways = over(terms.map((term) => term.value));
  return { terms: [...terms, logit], result: ways + own.value, quantities: { ways } };
}

function end(rule: Fields, tensors: Evaluator, cell: Cell, over: Over): Working {
  if (!labelledTokens(rule, tensors, cell).includes(true)) return { terms: [], result: 0, quantities: {} };
  const [x, last] = [rule.operand("x"), rule.operand("last")];
  const token = tensors.size(x, "token") - 1;
  const terms: Term[] = [];
  for (let label = 0; label < tensors.size(last, "label"); label++) {
    const factors = [tensors.factor(x, { ...cell, token, label }), tensors.factor(last, { label })];
    terms.push({ what: `label ${label}`, factors, value: exactSum(factors.map((each) => each.value)), added: true });
  }
  return { terms, result: over(terms.map((term) => term.value)), quantities: {} };
}

// Two scores of float32 numbers that differ by less than this share of their size may change places.
const ROUNDING = 1e-5;

interface Path {
  readonly x: Operand;
  readonly after: Operand;
  readonly steps: Operand;
  readonly last: Operand;
}

/** The best sequence's label at each labelled token of a sentence, read from its end. */
function bestPath(path: Path, tensors: Evaluator, cell: Cell, known: readonly boolean[]): Map<number, number> {
  const labels = tensors.size(path.last, "label");
  const each = <T>(make: (label: number) => T): T[] => range(labels, make);
  let onwards = each((label) => tensors.value(path.last, { ...cell, label }));
  const found = new Map<number, number>();
  for (let token = known.length - 1; token >= 0; token--) {
    if (known[token] !== true) continue;
    const own = each((label) => tensors.value(path.x, { ...cell, token, label }));
    const scores = own.map((score, label) => score + (onwards[label] ?? 0));
    const least = largest(scores) - ROUNDING * (1 + largest(own.map(Math.abs)));
    const stands = each((label) => tensors.value(path.after, { ...cell, token, after: label }) === 1);
    const stood = stands.indexOf(true);
    const single = stands.filter(Boolean).length === 1 && (scores[stood] ?? -Infinity) >= least;
    const chosen = single ? stood : scores.indexOf(largest(scores));
    found.set(token, chosen);
    onwards = each((label) => tensors.value(path.steps, { ...cell, label, after: chosen }));
  }
  return found;
}

const best: Compute = (rule, tensors, cell) => {
  const known = labelledTokens(rule, tensors, cell);
  const [token, label] = [step(cell, "token"), step(cell, "label")];
  if (known[token] !== true) return { terms: [], result: 0, quantities: {} };
  const path = {
    x: rule.operand("x"),
    after: rule.operand("after"),
    steps: rule.operand("steps"),
    last: rule.operand("last"),
  };
  const chosen = bestPath(path, tensors, cell, known);
  const own = tensors.factor(path.x, cell);
  const later = known.findIndex((labelled, place) => labelled && place > token);
  const onwards =
    later < 0
      ? tensors.factor(path.last, cell)
      : tensors.factor(path.steps, { ...cell, after: chosen.get(later) ?? 0 });
  const terms = [
    { what: "score so far", factors: [own], value: own.value },
    { what: "onwards", factors: [onwards], value: onwards.value },
  ];
  return { terms, result: Number(chosen.get(token) === label), quantities: {} };
};

const difference: Compute = (rule, tensors, cell) => {
  const [x, less] = [tensors.factor(rule.operand("x"), cell), tensors.factor(rule.operand("less"), cell)];
  const terms = [
    { what: "score", factors: [x], value: x.value },
    { what: "less", factors: [less, plain(-1)], value: -less.value },
  ];
  return { terms, result: x.value - less.value, quantities: {} };
};

export const CHAINS: Readonly<Record<string, Compute>> = {
  chain_sum: (rule, tensors, cell) => chain(rule, tensors, cell, logOfSum),
  chain_best: (rule, tensors, cell) => chain(rule, tensors, cell, largest),
  chain_end: (rule, tensors, cell) => end(rule, tensors, cell, logOfSum),
  chain_best_end: (rule, tensors, cell) => end(rule, tensors, cell, largest),
  best_path: best,
  difference,
};
