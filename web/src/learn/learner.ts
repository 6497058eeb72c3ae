/** A training in the page: step after step, forwards and back, and every step the same each time it is made. */

import { Program } from "../formulas/program.ts";
import { adam, copied, cut, type Moment } from "./adam.ts";
import type { Setup } from "./choice.ts";
import { drawWeights } from "./first_weights.ts";
import { Thinned } from "./thinned.ts";

/** So many moments (three numbers for each weight) and so many losses are kept; of a large model fewer, in 20 MB. */
const [MOMENTS, LOSSES, NUMBERS] = [400, 4000, 2_500_000];

/** From a step on: what is learned, and how fast. */
interface Stage {
  readonly from: number;
  readonly setup: Setup;
  readonly rate: number;
}

/** Why the training cannot go on from a step. */
export interface Stopped {
  readonly step: number;
  readonly what: "loss" | "gradient";
}

/** What moved the weights in one step. */
export interface Moved {
  /** How many steps were made before, the state before it and after. */
  readonly before: Moment;
  readonly after: Moment;
  /** The run with the weights before the step, and the gradient of each number. */
  readonly program: Program;
  readonly rate: number;
  /** The length of the whole gradient, and what it was multiplied with. */
  readonly length: number;
  readonly by: number;
}

export class Learner {
  readonly seed: number;
  /** The last step that was made; the one of now may lie before it. */
  tip = 0;
  stopped: Stopped | null = null;
  readonly losses = new Thinned<number>(LOSSES);
  #now: Moment;
  #program: Program;
  #stages: Stage[];
  readonly #moments: Thinned<Moment>;
  readonly #others = new Map<"shown" | "moved", { readonly setup: Setup; readonly program: Program }>();

  /** Throws where the formulas of the run cannot be trained here. `first`: weights to begin with in place of random ones. */
  constructor(setup: Setup, seed: number, rate: number, first?: Float64Array) {
    this.seed = seed;
    this.#program = new Program(setup.run, setup.facts);
    this.#stages = [{ from: 0, setup, rate }];
    const { weights, stretches } = this.#program;
    if (first !== undefined) weights.set(first);
    else drawWeights(weights, stretches, seed);
    this.#now = { step: 0, weights, mean: new Float64Array(weights.length), square: new Float64Array(weights.length) };
    this.#moments = new Thinned(Math.min(MOMENTS, Math.floor(NUMBERS / 3 / weights.length)));
    this.#moments.offer(0, () => copied(this.#now));
  }

  get step(): number {
    return this.#now.step;
  }

  get setup(): Setup {
    return this.#stage.setup;
  }

  get rate(): number {
    return this.#stage.rate;
  }

  get weights(): Float64Array {
    return this.#now.weights;
  }

  get #stage(): Stage {
    return this.#stages.findLast(({ from }) => from <= this.step) ?? (this.#stages[0] as Stage);
  }

  /** Makes so many steps; fewer where the loss or the gradient is not finite. */
  advance(count: number): void {
    for (let made = 0; made < count && this.stopped === null; made++) this.#advance();
  }

  #advance(): void {
    const { rate } = this.#use();
    const program = this.#program;
    const loss = program.forward();
    program.backward();
    const { length, by } = cut(program.gradient);
    if (!Number.isFinite(loss + length)) {
      this.stopped = { step: this.step, what: Number.isFinite(loss) ? "gradient" : "loss" };
      return;
    }
    this.losses.offer(this.step, () => loss);
    const step = this.step + 1;
    adam(this.#now, program.gradient, by, step, rate);
    this.#now = { ...this.#now, step };
    this.tip = Math.max(this.tip, step);
    this.#moments.offer(step, () => copied(this.#now));
  }

  /** The stage of now, with its program in hand. */
  #use(): Stage {
    const stage = this.#stage;
    if (this.#program.run !== stage.setup.run) {
      const program = new Program(stage.setup.run, stage.setup.facts);
      program.weights.set(this.#now.weights);
      this.#program = program;
      this.#now = { ...this.#now, weights: program.weights };
    }
    return stage;
  }

  /** Goes to a step that was made, or as far as there are some: from the last moment that was kept before it. */
  goTo(step: number): void {
    const to = Math.min(Math.max(step, 0), this.tip);
    const kept = this.#moments.before(to);
    if (kept === undefined) return;
    this.stopped = null;
    // From here it is nearer than from what was kept.
    if (!(this.step <= to && this.step >= kept.step)) this.#put(kept);
    this.advance(to - this.step);
  }

  #put(moment: Moment): void {
    const { weights, mean, square } = this.#now;
    weights.set(moment.weights);
    mean.set(moment.mean);
    square.set(moment.square);
    this.#now = { ...this.#now, step: moment.step };
    this.#use();
  }

  /** From this step on another rate, or other hidden words; the steps that were made after it are forgotten. */
  change({ rate = this.rate, setup = this.setup }: { rate?: number; setup?: Setup }): void {
    const from = this.step;
    this.#stages = [...this.#stages.filter((stage) => stage.from < from), { from, setup, rate }];
    this.tip = from;
    this.stopped = null;
    this.#moments.cutAfter(from);
    this.losses.cutAfter(from - 1);
    this.#use();
  }

  /** Where the rate of now began, and the rate before it: what leads back from a rate that was too high. */
  get before(): { readonly step: number; readonly rate: number | null } {
    const place = this.#stages.findLastIndex(({ from }) => from <= this.step);
    const now = this.#stages[place]?.rate;
    let first = place;
    while (first > 0 && this.#stages[first - 1]?.rate === now) first -= 1;
    return { step: this.#stages[first]?.from ?? 0, rate: this.#stages[first - 1]?.rate ?? null };
  }

  /** The run with the weights of now: every tensor of it, and the loss. */
  shown(): Program {
    const program = this.#other("shown", this.setup);
    program.weights.set(this.weights);
    program.forward();
    program.complete();
    return program;
  }

  /** What made the last step; null before the first. */
  moved(): Moved | null {
    const step = this.step;
    if (step === 0) return null;
    const after = copied(this.#now);
    const stopped = this.stopped;
    this.goTo(step - 1);
    const before = copied(this.#now);
    const { setup, rate } = this.#stage;
    this.#put(after);
    this.stopped = stopped;
    const program = this.#other("moved", setup);
    program.weights.set(before.weights);
    program.forward();
    program.backward();
    return { before, after, program, rate, ...cut(program.gradient) };
  }

  /** A program apart from the one that learns: looking does not disturb it. */
  #other(which: "shown" | "moved", setup: Setup): Program {
    const known = this.#others.get(which);
    if (known?.setup === setup) return known.program;
    const program = new Program(setup.run, setup.facts);
    this.#others.set(which, { setup, program });
    return program;
  }
}
