/** A training in the page: steps forwards and back, in bounded memory; what is refused; where it stops. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { DERIVATIVES } from "../../src/formulas/derivatives.ts";
import { Program } from "../../src/formulas/program.ts";
import { type Choice, LONGEST, refusal } from "../../src/learn/choice.ts";
import { checkedByDifferences, quotientOf } from "../../src/learn/finite.ts";
import { numbersFrom } from "../../src/learn/first_weights.ts";
import { Learner } from "../../src/learn/learner.ts";
import { END, Writer } from "../../src/learn/letters.ts";
import { setUp } from "../../src/learn/setup.ts";
import { Thinned } from "../../src/learn/thinned.ts";
import { parseLesson, writtenLesson } from "../../src/learn/written.ts";
import type { Formula, Rule, RunRecord } from "../../src/record/record.ts";

const SENTENCES = [
  ["She", "likes", "summer"],
  ["He", "loves", "to", "cook"],
];
const CHOICE: Choice = { sentences: SENTENCES, hidden: [[1], [3]], exercise: "slides" };
const ROWS = "sentence token channel";

const formula = (name: string, axes: string, rule: Rule): Formula => {
  const rest = { tokens: "inputs", keys: "inputs", unit: "", title: "", extra: false, words: "", mathml: "" } as const;
  return { name, axes, rule, ...rest };
};
const read = (name: string, axes: string) => ({ name, axes });

/** A model with the rules of the slides': words, positions, one attention, a relu, a vocabulary. */
const FORMULAS: readonly Formula[] = [
  formula("encoder.embed.word", ROWS, {
    ...{ rule: "look_up", scale: 1, offset: 0 },
    index: read("inputs.ids", "sentence token"),
    table: read("parameters.word", "row channel"),
  }),
  formula("encoder.embed.position", ROWS, {
    ...{ rule: "sinusoid", layout: "paper", width: 4 },
    position: read("inputs.positions", "sentence token"),
  }),
  formula("encoder.embed.sum", ROWS, {
    rule: "add",
    terms: { word: read("encoder.embed.word", ROWS), position: read("encoder.embed.position", ROWS) },
  }),
  formula("attention.query", "sentence head query channel", {
    ...{ rule: "linear", over: "input", scale: 1 },
    left: read("encoder.embed.sum", "sentence query input"),
    right: read("parameters.query", "(head:2 channel) input"),
  }),
  formula("attention.scores", "sentence head query key", {
    ...{ rule: "dot_product", over: "channel", scale: 0.5 },
    left: read("attention.query", "sentence head query channel"),
    // Both sides of one product come from the same weights.
    right: read("attention.query", "sentence head key channel"),
  }),
  formula("attention.may_look", "sentence head query key", { rule: "may_look", causal: false }),
  formula("attention.masked", "sentence head query key", {
    ...{ rule: "fill_set", fill: -1000, causal: false },
    x: read("attention.scores", "sentence head query key"),
    may_look: read("attention.may_look", "sentence head query key"),
  }),
  formula("attention.weights", "sentence head query key", {
    ...{ rule: "softmax", over: "key" },
    x: read("attention.masked", "sentence head query key"),
  }),
  formula("attention.mixed", "sentence head query channel", {
    ...{ rule: "weighted_sum", over: "key", scale: 1 },
    left: read("attention.weights", "sentence head query key"),
    right: read("attention.query", "sentence head key channel"),
  }),
  formula("attention.merged", ROWS, {
    ...{ rule: "concatenate", over: "head" },
    x: read("attention.mixed", "sentence head token channel"),
  }),
  formula("hidden", ROWS, {
    ...{ rule: "linear", over: "input", scale: 1 },
    left: read("attention.merged", "sentence token input"),
    right: read("parameters.hidden", "channel input"),
    bias: read("parameters.bias", "channel"),
  }),
  formula("activated", ROWS, { rule: "activation", kind: "relu", x: read("hidden", ROWS) }),
  formula("head.logits", "place vocabulary", {
    ...{ rule: "linear", over: "input", scale: 1 },
    left: read("activated", "<place> input"),
    right: read("parameters.head", "vocabulary input"),
  }),
  formula("head.log_probabilities", "place vocabulary", {
    ...{ rule: "log_softmax", over: "vocabulary" },
    x: read("head.logits", "place vocabulary"),
  }),
];

const BASE = {
  formulas: FORMULAS,
  model: { family: "slides", parameters: 0, stacks: [{ side: "encoder", layers: 1, width: 4, heads: 2 }] },
  words: { inputs: [], decoder_inputs: [], vocabulary: ["She", "He", "likes", "summer", "loves", "to"], answers: [] },
  weights: {
    "parameters.word": [6, 4],
    "parameters.query": [4, 4],
    "parameters.hidden": [5, 4],
    "parameters.bias": [5],
    "parameters.head": [6, 5],
  },
} as unknown as RunRecord;

const learner = (rate = 0.01, seed = 1): Learner => new Learner(setUp(BASE, CHOICE), seed, rate);

test("every gradient is the slope that differences of the loss have", () => {
  const program = learner().shown();
  const found = checkedByDifferences(program);
  assert.equal(found.count, 28 + 16 + 20 + 5 + 35);
  // Differences over 2e-5 are right to about ten digits.
  assert.ok(found.difference < 1e-7, String(found.difference));
  const moving = program.gradient.filter((each) => each !== 0).length;
  assert.ok(moving > 50, `${moving} gradients are not 0`);
});

test("a wrong derivative is noticed by differences", () => {
  const program = learner().shown();
  const rules = DERIVATIVES as Record<string, (typeof DERIVATIVES)[string]>;
  const right = rules["softmax"] as (typeof DERIVATIVES)[string];
  rules["softmax"] = (loop, made, upstream, sinks) =>
    right(loop, made, upstream, (readAt, other) => {
      const sink = sinks(readAt, other);
      return sink && { add: (at, flat, partial, from) => sink.add(at, flat, 1.001 * partial, from) };
    });
  const { difference } = checkedByDifferences(program);
  rules["softmax"] = right;
  assert.ok(difference > 1e-6, String(difference));
});

test("the terms of a gradient add up to it, for weights and for what is computed", () => {
  const program = learner().shown();
  program.backward();
  for (const name of [...program.stretches.keys(), "attention.query", "attention.scores", "hidden", "head.logits"]) {
    const size = program.fetch(name)?.data.length ?? 0;
    for (let at = 0; at < size; at++) {
      const sum = program.terms(name, at).reduce((all, { value }) => all + value, 0);
      assert.ok(Math.abs(sum - program.gradientAt(name, at)) < 1e-15, `${name} ${at}`);
    }
  }
  // Facts are given: no training moves them.
  assert.equal(program.moves("inputs.ids"), false);
  assert.equal(program.moves("encoder.embed.position"), false);
});

test("a weight moves against its gradient, by the rate in the first step", () => {
  const it = learner(0.01);
  const program = it.shown();
  program.backward();
  const [before, gradient] = [it.weights.slice(), program.gradient.slice()];
  it.advance(1);
  it.weights.forEach((weight, at) => {
    const slope = gradient[at] ?? 0;
    // Adam's first step is the rate in the direction of the gradient; 1e-8 is added to its size.
    if (Math.abs(slope) > 1e-4) assert.ok(Math.abs(weight - (before[at] ?? 0) + 0.01 * Math.sign(slope)) < 1e-5);
    if (slope === 0) assert.equal(weight, before[at]);
  });
  const moved = it.moved();
  assert.deepEqual(moved?.before.weights, before);
  assert.deepEqual(moved?.after.weights, it.weights);
  assert.deepEqual(moved?.program.gradient, gradient);
});

test("the loss falls, and every step is the same each time it is made", () => {
  const it = learner();
  const first = it.shown().loss;
  it.advance(900);
  const [last, weights] = [it.shown().loss, it.weights.slice()];
  assert.ok(last < first / 4, `${first} ${last}`);
  const other = learner();
  other.advance(123);
  it.goTo(123);
  assert.equal(it.step, 123);
  assert.equal(it.tip, 900);
  assert.deepEqual(it.weights, other.weights);
  it.goTo(900);
  assert.deepEqual(it.weights, weights);
  it.goTo(5000);
  assert.equal(it.step, 900);
});

test("looking at a step does not change what comes after it", () => {
  const [looked, plain] = [learner(), learner()];
  for (let step = 0; step < 30; step++) {
    looked.advance(1);
    looked.shown();
    looked.moved();
  }
  plain.advance(30);
  assert.deepEqual(looked.weights, plain.weights);
});

test("what is kept of many steps is bounded, and the first and the last of it stay", () => {
  const kept = new Thinned<number>(100);
  for (let step = 0; step <= 100_000; step++) kept.offer(step, () => step);
  assert.ok(kept.kept.length <= 100 && kept.kept.length > 40, String(kept.kept.length));
  assert.equal(kept.steps[0], 0);
  assert.ok(100_000 - (kept.steps.at(-1) ?? 0) < kept.every);
  assert.equal(kept.before(kept.every * 3 + 1), kept.every * 3);
  kept.cutAfter(kept.every * 2);
  assert.equal(kept.steps.at(-1), kept.every * 2);
});

test("other hidden words and another rate hold from the step where they were set", () => {
  const it = learner();
  it.advance(40);
  const at40 = it.weights.slice();
  it.change({ setup: setUp(BASE, { ...CHOICE, hidden: [[0], [3]] }) });
  it.change({ rate: 0.02 });
  it.advance(20);
  const at60 = it.weights.slice();
  it.goTo(40);
  assert.deepEqual(it.weights, at40);
  it.goTo(20);
  assert.equal(it.rate, 0.01);
  assert.deepEqual(it.setup.choice.hidden, [[1], [3]]);
  it.goTo(60);
  assert.deepEqual(it.weights, at60);
  assert.equal(it.rate, 0.02);
  assert.deepEqual(it.before, { step: 40, rate: 0.01 });
});

test("a rate that is too high stops before the weights are lost, and there is a way back", () => {
  const it = learner();
  it.advance(10);
  const at10 = it.weights.slice();
  it.change({ rate: 1e120 });
  it.advance(50);
  assert.notEqual(it.stopped, null);
  assert.ok(it.step < 20);
  assert.ok(it.weights.every(Number.isFinite));
  const { step, rate } = it.before;
  assert.deepEqual([step, rate], [10, 0.01]);
  it.goTo(step);
  it.change({ rate: rate ?? 0 });
  assert.equal(it.stopped, null);
  assert.deepEqual(it.weights, at10);
  it.advance(5);
  assert.equal(it.step, 15);
});

test("sentences that cannot be learned are refused with a reason", () => {
  const refused = (sentences: string[][], hidden: number[][]): string => {
    return refusal({ sentences, hidden, exercise: "slides" });
  };
  assert.equal(refusal(CHOICE), "");
  assert.match(refused([["a"], []], [[0], []]), /Sentence 1 is empty/);
  assert.match(refused([new Array(LONGEST + 1).fill("a")], [[0]]), /has 9 words/);
  assert.equal(refused([new Array(LONGEST).fill("a")], [[0]]), "");
  assert.match(refused([["a", "[MASK]"]], [[0]]), /\[MASK\]/);
  assert.match(refused([["a"]], [[]]), /No word is hidden/);
  assert.throws(() => setUp(BASE, { ...CHOICE, hidden: [[], []] }), /No word is hidden/);
});

test("words that the model does not know get rows of their own", () => {
  const { run, added } = setUp(BASE, CHOICE);
  assert.deepEqual(added, ["cook"]);
  assert.deepEqual(run.weights["parameters.word"], [7, 4]);
  assert.deepEqual(run.weights["parameters.head"], [7, 5]);
  assert.deepEqual(run.words.answers, [
    [0, 1, "likes"],
    [1, 3, "cook"],
  ]);
});

test("a rule without a derivative is refused before the training", () => {
  const rules = FORMULAS.map((each) => {
    return each.name === "activated" ? { ...each, rule: { ...each.rule, kind: "mish" } } : each;
  });
  const setup = setUp({ ...BASE, formulas: rules } as RunRecord, CHOICE);
  const program = new Program(setup.run, setup.facts);
  program.forward();
  assert.throws(() => program.backward(), /mish/);
  const unknown = FORMULAS.map((each) =>
    each.name === "activated" ? { ...each, rule: { ...each.rule, rule: "largest" } } : each,
  );
  assert.throws(() => new Learner(setUp({ ...BASE, formulas: unknown } as RunRecord, CHOICE), 0, 0.01));
});

test("the numbers of a seed are spread evenly, and neighbouring seeds have others", () => {
  const [one, two] = [numbersFrom(1), numbersFrom(2)];
  const [first, second] = [Array.from({ length: 4000 }, one), Array.from({ length: 4000 }, two)];
  const mean = first.reduce((sum, each) => sum + each, 0) / 4000;
  // Six deviations of the mean of 4,000 even numbers.
  assert.ok(Math.abs(mean - 0.5) < 6 * Math.sqrt(1 / 12 / 4000));
  assert.ok(first.every((each) => each >= 0 && each < 1));
  assert.ok(Math.abs((first[0] ?? 0) - (second[0] ?? 0)) > 1e-3);
  assert.deepEqual(Array.from({ length: 3 }, numbersFrom(1)), first.slice(0, 3));
});

test("an address leads to the same training", () => {
  const first = { choice: CHOICE, seed: 0, rate: 0.005 };
  assert.deepEqual(writtenLesson(first, first), []);
  const choice: Choice = { sentences: [["a,b", "c_d", "é"], ["x"]], hidden: [[0, 2], [0]], exercise: "one-head" };
  const other = { choice, seed: 7, rate: 0.1 };
  const written = writtenLesson(other, first);
  assert.ok(written.every((each) => !each.includes(",")));
  assert.deepEqual(parseLesson(written, first), other);
  assert.deepEqual(parseLesson(["x.nonsense", "seed.q", "rate.-1", "hidden.9", "text.%"], first), first);
});

test("lines are learned letter by letter, and written from then on", () => {
  const table = "parameters.encoder.embed.word.weight";
  // The same without what is after the attention, and with the table of words by its name in the slides' model.
  const renamed = JSON.parse(JSON.stringify(FORMULAS).replaceAll("parameters.word", table)) as Formula[];
  const formulas = renamed.flatMap((each): Formula[] => {
    if (each.name === "hidden" || each.name === "activated") return [];
    const left = read("attention.merged", "<place> input");
    return [each.name === "head.logits" ? { ...each, rule: { ...each.rule, left } } : each];
  });
  const weights = { [table]: [6, 4], "parameters.query": [4, 4], "parameters.head": [6, 4] };
  const base = { ...BASE, formulas, weights } as RunRecord;
  const lines = ["ab", "cba", "ca"];
  const choice: Choice = { sentences: lines.map((line) => [...line]), hidden: [], exercise: "letters" };
  const setup = setUp(base, choice);
  assert.deepEqual(setup.run.words.vocabulary, [END, "a", "b", "c"]);
  assert.deepEqual(setup.facts.get("labels")?.data, [1, 2, 0, 3, 2, 1, 0, 3, 1, 0]);
  const it = new Learner(setup, 1, 0.01);
  const writer = new Writer(base, setup);
  const written = (): string[] => {
    const draw = numbersFrom(5);
    return Array.from({ length: 30 }, () => writer.write(it.weights, draw, 1));
  };
  const known = (all: readonly string[]): number => all.filter((line) => lines.includes(line)).length;
  const before = known(written());
  it.advance(600);
  assert.ok(before < 10, String(before));
  assert.ok(known(written()) > 25, written().join(" "));
  assert.equal(new Set(written()).size >= 3, true);
  // Near 0 the likeliest letter is always taken.
  const cold = Array.from({ length: 10 }, (_, seed) => writer.write(it.weights, numbersFrom(seed), 0.01));
  assert.equal(new Set(cold).size, 1);
});

test("the quotient of differences leaves the weights as they were", () => {
  const program = learner().shown();
  const before = program.weights.slice();
  quotientOf(program, 3);
  assert.deepEqual(program.weights, before);
});
