/** The training that the page holds: it goes on while another level is looked at, and is there again afterwards. */

import { signal } from "@preact/signals";
import { go, state } from "../../address/state.ts";
import { Names } from "../../formulas/names.ts";
import type { Program } from "../../formulas/program.ts";
import { RATE } from "../../learn/adam.ts";
import { type Choice, type Exercise, isWriter, refusal } from "../../learn/choice.ts";
import { checkedByDifferences, type FiniteCheck } from "../../learn/finite.ts";
import { Learner } from "../../learn/learner.ts";
import { DAYS } from "../../learn/letters.ts";
import { setUp } from "../../learn/setup.ts";
import { fewer, parseLesson, writtenLesson } from "../../learn/written.ts";
import type { RunRecord } from "../../record/record.ts";
import { problemOf } from "../../sources/refused.ts";
import { say } from "../../words/say.ts";

export const PACES = { slow: 10, steady: 100, fast: Number.POSITIVE_INFINITY } as const;
export type Pace = keyof typeof PACES;

/** How long the page computes before it draws, and how long a picture stays at least, in ms. */
const [BUSY, STAYS] = [12, 80];
/** From so many weights on each step is timed. */
const LARGE = 1000;

/** A run that was made before, for comparison: its curve. */
export interface Past {
  readonly choice: Choice;
  readonly steps: readonly number[];
  readonly losses: readonly number[];
}

export interface Lesson {
  readonly base: RunRecord;
  readonly learner: Learner;
  readonly names: Names;
  readonly past: Past | null;
}

export const lesson = signal<Lesson | null>(null);
/** Grows with everything that is to be drawn again. */
export const tick = signal(0);
export const playing = signal(false);
export const pace = signal<Pace>("steady");
/** Why what was asked for is not done; empty: nothing is wrong. */
export const wrong = signal("");
export const checked = signal<{ readonly step: number; readonly found: FiniteCheck } | null>(null);
/** What is said to people who do not see the page. */
export const spoken = signal("");
/** The sentence that stands in front in the pictures. */
export const front = signal(0);
/** The number whose gradient is opened, after those from which it was reached. */
export const trail = signal<readonly { readonly name: string; readonly at: number }[]>([]);

const SEED = 0;

/** The slides' own sentences and hidden words, where the run has them. */
export function firstChoice(base: RunRecord): Choice {
  const { inputs, answers } = base.words;
  const sentences = inputs.map((words, row) => {
    const hidden = new Map(answers.flatMap(([sentence, token, word]) => (sentence === row ? [[token, word]] : [])));
    return words.map((word, token) => hidden.get(token) ?? word).filter((word) => word !== "–");
  });
  const hidden = sentences.map((_, row) => answers.flatMap(([sentence, token]) => (sentence === row ? [token] : [])));
  return { sentences, hidden, exercise: "slides" };
}

/** Begins where the address says, or with the sentences of the run. */
/** With a place among all weights, this weight is in hand. */
export function begin(base: RunRecord, options: readonly string[], [step = 0, flat]: readonly number[]): void {
  if (lesson.peek()?.base.formulas === base.formulas) return;
  lesson.value = null;
  playing.value = false;
  const first = firstChoice(base);
  const { choice, seed, rate } = parseLesson(options, { choice: first, seed: SEED, rate: RATE });
  start(base, refusal(choice) === "" ? choice : first, seed, rate);
  const now = lesson.peek();
  if (now === null) return;
  for (const [name, stretch] of flat === undefined ? [] : shown(now).stretches)
    if (Number(flat) >= stretch.start && Number(flat) < stretch.start + stretch.size)
      trail.value = [{ name, at: Number(flat) - stretch.start }];
  if (step > 0) void reach(Math.min(step, MOST_AT_ONCE));
}

/** So many steps an address may ask for. */
const MOST_AT_ONCE = 20_000;

/** Makes so many steps, between which the page stays alive. */
async function reach(step: number): Promise<void> {
  const begun = lesson.peek();
  while (begun !== null && lesson.peek() === begun && begun.learner.step < step && begun.learner.stopped === null) {
    const end = performance.now() + BUSY;
    while (begun.learner.step < step && performance.now() < end && begun.learner.stopped === null)
      begun.learner.advance(1);
    await new Promise((resolve) => setTimeout(resolve));
  }
  drawn();
}

function start(base: RunRecord, choice: Choice, seed: number, rate: number, past: Past | null = null): void {
  wrong.value = refusal(choice);
  if (wrong.value !== "") return;
  try {
    const setup = setUp(base, choice);
    const learner = new Learner(setup, seed, rate);
    lesson.value = { base, learner, names: new Names(setup.run), past };
    checked.value = null;
    trail.value = [];
    front.value = 0;
    drawn();
  } catch (error) {
    wrong.value = problemOf(error);
  }
}

/** From the first step again, with something else; the curve of before stays in the picture. */
export function again(other: Partial<Choice> & { readonly seed?: number }): void {
  const now = lesson.peek();
  if (now === null) return;
  const { learner, base } = now;
  playing.value = false;
  const { choice } = learner.setup;
  const { seed = learner.seed, ...rest } = other;
  // The second model learns lines, the slides' model sentences.
  const { exercise = choice.exercise } = rest;
  const crossed = isWriter(exercise) !== isWriter(choice.exercise);
  const texts = !crossed ? {} : isWriter(exercise) ? { sentences: DAYS, hidden: [] } : firstChoice(base);
  const resized = usualRate(exercise) !== usualRate(choice.exercise);
  const { losses } = learner;
  const past = crossed
    ? null
    : fewer(losses).length > 1
      ? { choice, steps: [...losses.steps], losses: [...losses.kept] }
      : now.past;
  const next = { ...choice, ...texts, ...rest };
  if (refusal(next) !== "") wrong.value = refusal(next);
  else start(base, next, seed, learner.stopped === null && !resized ? learner.rate : usualRate(next.exercise), past);
  remember();
}

/** At the rate of the others the largest model overshoots. */
function usualRate(exercise: Exercise): number {
  return exercise === "letters-large" ? 0.001 : RATE;
}

/** Hides a word, or shows it again; the weights stay as they are. */
export function hide(sentence: number, token: number): void {
  const now = lesson.peek();
  if (now === null) return;
  const { choice } = now.learner.setup;
  const hidden = choice.hidden.map((places, row) => {
    if (row !== sentence) return places;
    return places.includes(token) ? places.filter((each) => each !== token) : [...places, token].sort((a, b) => a - b);
  });
  const next = { ...choice, hidden };
  wrong.value = refusal(next);
  if (wrong.value !== "") return;
  const setup = setUp(now.base, next);
  now.learner.change({ setup });
  lesson.value = { ...now, names: new Names(setup.run) };
  drawn();
  remember();
}

export function setRate(rate: number): void {
  if (!(rate > 0) || !Number.isFinite(rate)) {
    wrong.value = say`The rate is a number above 0, such as 0.005.`;
    return;
  }
  wrong.value = "";
  if (rate !== lesson.peek()?.learner.rate) lesson.peek()?.learner.change({ rate });
  drawn();
  remember();
}

/** From a rate that was too high back to where it was set, with the rate of before. */
export function back(): void {
  const learner = lesson.peek()?.learner;
  if (learner === undefined) return;
  const { step, rate } = learner.before;
  learner.goTo(step);
  learner.change({ rate: rate ?? RATE });
  drawn();
  tell();
  remember();
}

/** Looks at another step. */
export function goTo(step: number): void {
  playing.value = false;
  lesson.peek()?.learner.goTo(step);
  drawn();
  tell();
  remember();
}

/** So many steps, made at once. */
export function make(steps: number): void {
  playing.value = false;
  lesson.peek()?.learner.advance(steps);
  drawn();
  tell();
  remember();
}

export function still(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Where the system asks for less motion each press makes 100 steps and draws once. */
export function play(): void {
  if (still()) make(100);
  else if (playing.peek()) rest();
  else run();
}

/** Nothing is made any more. */
function rest(): void {
  playing.value = false;
  drawn();
  tell();
  remember();
}

function run(): void {
  playing.value = true;
  let [last, painted, owed, told, took] = [performance.now(), 0, 0, performance.now(), 0];
  const frame = (now: number): void => {
    const learner = lesson.peek()?.learner;
    if (!playing.peek() || learner === undefined) return;
    const perSecond = PACES[pace.peek()];
    // A page that was not seen for a while does not make up for it.
    owed = perSecond === Number.POSITIVE_INFINITY ? perSecond : owed + (Math.min(now - last, 200) * perSecond) / 1000;
    last = now;
    // Since the last picture was asked for it has been drawn.
    if (took < 0) took += performance.now();
    const end = performance.now() + BUSY;
    while (owed >= 1 && performance.now() < end && learner.stopped === null) {
      // A step of the second model takes some milliseconds.
      const some = learner.weights.length > LARGE ? 1 : Math.min(Math.floor(owed), 10);
      learner.advance(some);
      owed -= some;
    }
    if (learner.stopped !== null) {
      rest();
      return;
    }
    // A picture that takes long to draw leaves more time between two of them.
    if (now - painted > Math.max(STAYS, 4 * took)) {
      painted = now;
      took = -performance.now();
      drawn();
    }
    if (now - told > 4000) {
      told = now;
      tell();
    }
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

export function check(): void {
  const learner = lesson.peek()?.learner;
  if (learner === undefined) return;
  playing.value = false;
  checked.value = { step: learner.step, found: checkedByDifferences(learner.shown()) };
  drawn();
}

/** The run with the weights of the step in hand, worked out once for each picture; who reads it is drawn again with it. */
let picture: { readonly of: Learner; readonly tick: number; readonly program: Program } | null = null;

export function shown({ learner }: Lesson): Program {
  const now = tick.value;
  if (picture?.of !== learner || picture.tick !== now) picture = { of: learner, tick: now, program: learner.shown() };
  return picture.program;
}

function drawn(): void {
  tick.value += 1;
}

function tell(): void {
  const learner = lesson.peek()?.learner;
  if (learner === undefined) return;
  const { step, stopped } = learner;
  const loss = lesson.peek() === null ? Number.NaN : shown(lesson.peek() as Lesson).loss;
  spoken.value =
    stopped === null
      ? say`step ${step}, loss ${loss.toFixed(3)}`
      : stopped.what === "loss"
        ? say`stopped at step ${step}: the loss is not finite`
        : say`stopped at step ${step}: the gradient is not finite`;
}

let resting: ReturnType<typeof setTimeout> | undefined;

/** Writes into the address what leads here again, once the hand rests. */
function remember(): void {
  clearTimeout(resting);
  resting = setTimeout(() => {
    const now = lesson.peek();
    if (now === null || state.peek().level !== "learn") return;
    const { learner, base } = now;
    const first = { choice: firstChoice(base), seed: SEED, rate: RATE };
    const written = writtenLesson({ choice: learner.setup.choice, seed: learner.seed, rate: learner.rate }, first);
    if (learner.stopped === null) go({ options: written, at: learner.step === 0 ? [] : [learner.step] }, true);
  }, 300);
}
