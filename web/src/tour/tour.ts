/** The tour through a run: its steps in the order of the slides, as far as this model has them. */

import { go, type State, state } from "../frame/state.ts";
import { MissingTensor } from "../run/evaluator.ts";
import type { Names } from "../run/names.ts";
import type { Store } from "../run/store.ts";
import { type Said, say } from "./said.ts";
import { Scout } from "./scout.ts";
import type { Step, Told } from "./step.ts";
import { ANSWER } from "./steps/answer.ts";
import { INPUT } from "./steps/input.ts";
import { SCORES } from "./steps/scores.ts";
import { VALUES } from "./steps/values.ts";

export const ALL: readonly Step[] = [...INPUT, ...SCORES, ...VALUES, ...ANSWER];

const known = new WeakMap<Names, Step[]>();

/** The steps that this run has, for the sentence with which the tour began. */
export function stepsOf(store: Store): Step[] {
  const { names } = store;
  let found = known.get(names);
  if (found === undefined) {
    const scout = scoutOf(store, firstSentence(names));
    found = ALL.filter((step) => !(step.lacks?.(scout) ?? ""));
    known.set(names, found);
  }
  return found;
}

/** The first sentence with as many hidden words as any: the tour needs two for some of its steps. */
export function firstSentence(names: Names): number {
  const { answers } = names.run.words;
  const count = (sentence: number): number => answers.filter(([row]) => row === sentence).length;
  return answers.reduce((best, [row]) => (count(row) > count(best) ? row : best), 0);
}

export function scoutOf(store: Store, sentence: number): Scout {
  return new Scout(store.names, store.fetch, sentence);
}

/** A step in numbers; a sentence about what is missing where the page does not carry what it tells of. */
export function told(step: Step, scout: Scout): Told {
  try {
    const lacks = step.lacks?.(scout) ?? "";
    if (lacks !== "")
      return without(
        say`In this sentence there is nothing to see at this step: ${lacks}. Choose another sentence at the left, or go on.`,
      );
    return step.tell(scout);
  } catch (error) {
    if (!(error instanceof MissingTensor)) throw error;
    return without(
      say`This page does not carry ${error.tensor}, of which this step tells: it is beyond the limit with which the page was written. Go on with the next step.`,
    );
  }
}

function without(text: Said[]): Told {
  return { text, question: [], answer: [], at: {} };
}

/** Goes to a step, counted from 1; beyond the ends nothing happens. */
export async function enter(store: Store, number: number, replace = false): Promise<void> {
  const step = stepsOf(store)[number - 1];
  if (step === undefined) return;
  const { names } = store;
  const sentence = state.value.tour > 0 ? state.value.sentence : firstSentence(names);
  const scout = scoutOf(store, sentence);
  await store.open(step.reads?.(scout) ?? []);
  const at: Partial<State> = told(step, scout).at;
  go({ ...at, tour: number }, replace);
}

/** The step that was shown last, to come back to. */
let last = 1;

export function leave(): void {
  last = state.value.tour;
  go({ tour: 0 });
}

export function comeBack(store: Store): Promise<void> {
  return enter(store, last);
}
