// Trains the slides' model with the built page's own interpreter: node learn.mjs FILE, a JSON object
// {record, choice, first, rate, steps, at: {step: weights}}. Prints the page's weights after those steps, at the given
// weights the gradient of every number that the loss reaches, the largest error of the terms of a few gradients, the finite
// differences, and the formulas that it used.
import { readFileSync } from "node:fs";
import { checkedByDifferences, Learner, Program, setUp } from "../../glassformer/page/built/explorer.js";

const asked = JSON.parse(readFileSync(process.argv[2], "utf8"));
const setup = setUp(asked.record, asked.choice);
const program = new Program(setup.run, setup.facts);
const tensors = Object.fromEntries(setup.run.formulas.map(({ name }) => [name, program.fetch(name).shape]));

const flat = (named) => Float64Array.from([...program.stretches.keys()].flatMap((name) => named[name].flat(Infinity)));
const named = (numbers) => {
  return Object.fromEntries(
    [...program.stretches].map(([name, { start, size }]) => [name, [...numbers.subarray(start, start + size)]]),
  );
};

const learner = new Learner(setup, 0, asked.rate, flat(asked.first));
const begun = process.cpuUsage().user;
learner.advance(asked.steps);
const seconds = (process.cpuUsage().user - begun) / 1e6;

const gradients = {};
let terms = 0;
for (const [step, weights] of Object.entries(asked.at)) {
  program.weights.set(flat(weights));
  const loss = program.forward();
  program.backward();
  const found = { loss, weights: named(program.gradient), tensors: {} };
  for (const [name, shape] of Object.entries(tensors)) {
    if (!program.moves(name)) continue;
    const size = shape.reduce((product, each) => product * each, 1);
    found.tensors[name] = Array.from({ length: size }, (_, at) => program.gradientAt(name, at));
  }
  gradients[step] = found;
  // What is shown of a gradient adds up to it.
  for (const name of [...program.stretches.keys(), ...Object.keys(tensors)]) {
    if (!program.moves(name)) continue;
    for (const at of [0, 3, 5]) {
      const shown = program.terms(name, at).reduce((sum, { value }) => sum + value, 0);
      terms = Math.max(terms, Math.abs(shown - program.gradientAt(name, at)));
    }
  }
}

// Back and forth leads to the same weights.
const last = learner.weights.slice();
learner.goTo(Math.floor(asked.steps / 3));
learner.goTo(asked.steps);
const same = last.every((weight, at) => weight === learner.weights[at]);

console.log(
  JSON.stringify({
    weights: named(last),
    gradients,
    terms,
    differences: checkedByDifferences(program),
    same,
    added: setup.added,
    formulas: setup.run.formulas.map(({ name, axes, rule }) => ({ name, axes, rule })),
    seconds,
  }),
);
