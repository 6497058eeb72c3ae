/** A tour through a run: its steps in their order, as far as this model has them. */

import { go, state } from "../address/state.ts";
import { MissingTensor } from "../formulas/evaluator.ts";
import type { Names } from "../formulas/names.ts";
import type { Store } from "../run/store.ts";
import { filled } from "../scout/said.ts";
import { type Scout, scoutOf } from "../scout/scout.ts";
import { say } from "../words/say.ts";
import type { Step, Told } from "./step.ts";
import { field, type Text } from "./texts.ts";
import { addressOf, placeIn, type Tour } from "./tours.ts";

/** What must be at hand before a step can be found: the texts' facts, and the weights in which the example is sought. */
export function needed({ run }: Names, within = ""): string[] {
  const weights = run.formulas.find(({ name }) => name.startsWith(within) && name.endsWith(".self_attention.weights"));
  return [...Object.keys(run.facts), ...(weights === undefined ? [] : [weights.name])];
}

const known = new WeakMap<Names, Map<Tour, Step[]>>();

/** The steps that this run has, for the sentence with which the tour begins. */
export function stepsOf(store: Store, tour: Tour): Step[] {
  const tours = known.get(store.names) ?? new Map<Tour, Step[]>();
  known.set(store.names, tours);
  let found = tours.get(tour);
  if (found === undefined) {
    const scout = scoutOf(store, firstSentence(store.names), tour.stack);
    found = tour.suits(store.names) ? tour.steps.filter((step) => step.lacks?.(scout) !== true) : [];
    tours.set(tour, found);
  }
  return found;
}

/** The first sentence with as many hidden words as any: the tour needs two for some of its steps. */
function firstSentence(names: Names): number {
  const { answers } = names.run.words;
  const count = (sentence: number): number => answers.filter(([row]) => row === sentence).length;
  return answers.reduce((best, [row]) => (count(row) > count(best) ? row : best), answers[0]?.[0] ?? 0);
}

/** A step in words and numbers; a sentence about what is missing where this run or page lacks it. */
export function told(step: Step, text: Text | undefined, scout: Scout): Told {
  try {
    if (step.lacks?.(scout) === true) {
      return without(
        say`Nothing to see at this step here: ${field(text, "lacks")}. Choose another sentence, or go on.`,
      );
    }
    const { variant, puts, ...found } = step.find(scout);
    const said = (name: string): Told["text"] => filled(field(text, name, variant || ""), puts);
    const [question, answer, note] = [said("question"), said("answer"), said("note")];
    return {
      ...found,
      text: said("text"),
      question,
      answer,
      note,
      correction: field(text, "correction", variant || ""),
    };
  } catch (error) {
    if (!(error instanceof MissingTensor)) throw error;
    const { tensor } = error;
    const text = say`This page does not carry ${scout.names.title(tensor)}, which this step needs: write it with --megabytes 64.`;
    return { ...without(text), missing: tensor };
  }
}

function without(text: string): Told {
  return { text: [text], question: [], answer: [], note: [], correction: "", at: {} };
}

/** Goes to a place in a tour, as the address writes it; beyond the ends nothing happens. */
export async function enter(store: Store, address: string, replace = false): Promise<void> {
  const { tour, step: number } = placeIn(address);
  if (tour === undefined) return;
  await store.open(needed(store.names, tour.stack));
  const step = stepsOf(store, tour)[number - 1];
  if (step === undefined) return;
  const sentence =
    state.value.tour !== "" && state.value.tensor !== "" ? state.value.sentence : firstSentence(store.names);
  const scout = scoutOf(store, sentence, tour.stack);
  await store.open(step.reads?.(scout) ?? []);
  let found = told(step, undefined, scout);
  for (let last = ""; found.missing !== undefined && found.missing !== last; found = told(step, undefined, scout)) {
    last = found.missing;
    await store.open([last]);
  }
  go({ ...found.at, tour: address }, replace);
}

/** The step that was shown last, to come back to; empty before the first. */
let last = "";

export function leave(): void {
  last = state.value.tour;
  go({ tour: "" });
}

/** Where the tours go on: where one was left, else at the beginning of the only one; null where there is a choice. */
export function goesOn(tours: readonly Tour[]): string | null {
  const left = placeIn(last).tour;
  if (last !== "" && left !== undefined && tours.includes(left)) return last;
  const [only] = tours;
  return only !== undefined && tours.length === 1 ? addressOf(only, 1) : null;
}
