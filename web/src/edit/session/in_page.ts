/** What makes a run with changes in a page without a server, where the model is small. */

import type { Fetch } from "../../formulas/evaluator.ts";
import { type Explanation, explainCell } from "../../formulas/interpreter.ts";
import { fullShape, MOST_WORK, Recomputer, workOfRun } from "../../formulas/recompute.ts";
import { type Heads, headsOf } from "../../measures/heads.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import { grouped } from "../../numbers/written.ts";
import { axisNames, type Cell } from "../../record/axes.ts";
import type { Editing, Formula, RunRecord } from "../../record/record.ts";
import { numbersIn, type Source } from "../../sources/source.ts";
import { say } from "../../words/say.ts";
import type { Change, Step, Which } from "../changes/changes.ts";
import { Reader } from "../changes/given.ts";
import { handOf, misfit } from "../changes/hand.ts";
import { MASK } from "../changes/words.ts";
import type { Engine, Made, WordsBy } from "./engine.ts";

/** The engine of a page without a server. */
export async function engineOfPage(source: Source): Promise<Engine> {
  const { run } = source;
  const editing = run.editing ?? null;
  if (editing === null) return new Nothing(null, say`It was written without what a change needs.`);
  if (Object.keys(run.left_out).length > 0) return new Nothing(editing, say`It does not carry all numbers of its run.`);
  if (editing.steps.some((step) => step.kind === "patch"))
    return new Nothing(editing, say`It holds numbers of another run.`);
  const found = await opened(source, [...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  const work = workOfRun(run, (name) => found.get(name) ?? weightOf(run, name));
  if (work <= MOST_WORK) return new InPage(source, editing, found);
  const millions = grouped(Math.round(work / 1e6));
  return new Nothing(editing, say`It takes ${millions} million multiplications, too many for a page.`);
}

async function opened(source: Source, names: Iterable<string>): Promise<Map<string, Tensor>> {
  const found = new Map<string, Tensor>();
  for (const name of names) {
    const tensor = await source.tensor(name);
    if (tensor !== undefined) found.set(name, tensor);
  }
  return found;
}

/** A weight's shape alone: enough to count what a formula takes. */
function weightOf(run: RunRecord, name: string): Tensor | undefined {
  const shape = run.weights[name];
  return shape === undefined ? undefined : { shape, data: [] };
}

/** A page that cannot work its run out again. */
class Nothing implements Engine {
  readonly words = "none";
  readonly offers = [];
  readonly why: string;
  readonly #editing: Editing | null;

  constructor(editing: Editing | null, why: string) {
    this.#editing = editing;
    this.why = why;
  }

  texts(_: string, which: Which): readonly string[] | null {
    return textsOf(this.#editing, which);
  }

  make(): Promise<Made> {
    return Promise.reject(new Error(this.why));
  }
}

function textsOf(editing: Editing | null, which: Which): readonly string[] | null {
  if (editing === null || which === "target") return null;
  return which === "text" ? editing.texts : which === "second" ? editing.seconds : editing.choices;
}

class InPage implements Engine {
  readonly why = "";
  readonly offers = [];
  readonly words: WordsBy;
  readonly #source: Source;
  readonly #editing: Editing;
  readonly #stored: Map<string, Tensor>;
  #weights: Promise<void> | undefined;
  #opened = false;
  readonly #reader: Reader;
  readonly #recomputer: Recomputer;

  constructor(source: Source, editing: Editing, stored: Map<string, Tensor>) {
    this.#source = source;
    this.#editing = editing;
    this.#stored = stored;
    this.#recomputer = new Recomputer(source.run, (name) => stored.get(name));
    this.#reader = new Reader(source.run, editing, (name) => stored.get(name));
    this.words = editing.by_word && editing.scored_by_masks ? "text" : "token";
  }

  texts(_: string, which: Which): readonly string[] | null {
    return textsOf(this.#editing, which);
  }

  async make(_: string, changes: readonly Change[]): Promise<Made> {
    // The weights are opened when they are first needed: the first picture does without them.
    this.#weights ??= this.#open();
    await this.#weights;
    return this.#made(changes);
  }

  atOnce(changes: readonly Change[]): Made | null {
    return this.#opened ? this.#made(changes) : null;
  }

  async #open(): Promise<void> {
    for (const [name, tensor] of await opened(this.#source, Object.keys(this.#source.run.weights)))
      this.#stored.set(name, tensor);
    this.#opened = true;
  }

  #made(changes: readonly Change[]): Made {
    const base = this.#source.run;
    const stored: Fetch = (name) => this.#stored.get(name);
    const wrong: string[] = [];
    const fit = (change: Change, run: RunRecord, given: Fetch): boolean => {
      const problem =
        change.kind !== "text"
          ? misfit(change, run, (name) => fullShape(name, run, stored, given))
          : this.words === "text"
            ? null
            : NO_TEXTS;
      if (problem !== null) wrong.push(problem);
      return problem === null;
    };
    const words = changes.filter((change) => ofWords(change) && fit(change, base, stored));
    const read = this.#reader.read(words);
    const given: Fetch = (name) => read.facts.get(name) ?? stored(name);
    const steps = changes.filter((change): change is Step => !ofWords(change) && fit(change, read.run, given));
    const all = [...this.#editing.steps, ...steps];
    const found = this.#recomputer.compute(read.run, given, handOf(all, read.run));
    const honesty = base.honesty && { ...base.honesty, before_changes: true };
    const run = { ...guessed(read.run, found), shared: stillShared(read.run, found), honesty };
    const source = new MadeSource(run, (name) => found.get(name) ?? given(name), this.#source);
    return { source, steps: all, refused: [...wrong, ...read.refused] };
  }
}

const NO_TEXTS = say`This page reads no other texts: only a live page has the tokenizer.`;

function ofWords(change: Change): boolean {
  return change.kind === "text" || change.kind === "change_word" || change.kind === "mask_word";
}

/** The axes along which one number is still that of all. */
function stillShared(run: RunRecord, found: ReadonlyMap<string, Tensor>): RunRecord["shared"] {
  const axes = new Map(run.formulas.map((formula) => [formula.name, axisNames(formula.axes)]));
  const still = Object.entries(run.shared).map(([name, shared]) => {
    const size = (axis: string): number => found.get(name)?.shape[axes.get(name)?.indexOf(axis) ?? -1] ?? 1;
    return [name, Object.fromEntries(Object.entries(shared).filter(([axis]) => size(axis) === 1))];
  });
  return Object.fromEntries(still);
}

/** A word that was masked from the start is called by the model's best guess. */
function guessed(run: RunRecord, found: ReadonlyMap<string, Tensor>): RunRecord {
  const probabilities = found.get("head.probabilities");
  if (probabilities === undefined || !run.words.answers.some(([, , word]) => word === MASK)) return run;
  const count = probabilities.shape[1] ?? 1;
  const answers = run.words.answers.map(([sentence, token, word]): [number, number, string] => {
    const place = run.places.findIndex(([row, at]) => row === sentence && at === token);
    if (word !== MASK || place < 0) return [sentence, token, word];
    const row = range(count, (id) => probabilities.data[place * count + id] ?? 0);
    return [sentence, token, run.words.vocabulary[row.indexOf(Math.max(...row))] ?? MASK];
  });
  return { ...run, words: { ...run.words, answers } };
}

/** Sections about the model, whatever it reads: see `page/sections/related.py`. The page has the texts of an index that it has. */
const OF_MODEL = ["probe", "neighbours", "moved"];

/** A run whose numbers were worked out here. */
class MadeSource implements Source {
  readonly run: RunRecord;
  readonly whole = true;
  readonly #fetch: Fetch;
  readonly #before: Source;

  constructor(run: RunRecord, fetch: Fetch, before: Source) {
    this.run = run;
    this.#fetch = fetch;
    this.#before = before;
  }

  async tensor(name: string): Promise<Tensor | undefined> {
    return this.#fetch(name);
  }

  atHand(name: string): Tensor | undefined {
    return this.#fetch(name);
  }

  shape(name: string): readonly number[] | undefined {
    return this.#fetch(name)?.shape ?? this.run.weights[name];
  }

  async numbersAt(name: string, index: readonly number[]): Promise<ArrayLike<number> | undefined> {
    const tensor = this.#fetch(name);
    return tensor === undefined ? undefined : numbersIn(tensor, index);
  }

  heads(attention: string, sentence: number, dots: number): Promise<Heads | undefined> {
    return headsOf(this.run, (name) => this.tensor(name), attention, sentence, dots);
  }

  async explain(formula: Formula, cell: Cell): Promise<Explanation> {
    return explainCell(formula, cell, this.#fetch, this.run);
  }

  lacks(name: string): boolean {
    return this.#before.lacks?.(name) ?? false;
  }

  /** The model is still the same. */
  async training(mark: string): Promise<unknown> {
    return this.#before.training?.(mark);
  }

  /** What came with the tensors is about the run before the changes, except for what is about its model. */
  async section(name: string): Promise<unknown> {
    return OF_MODEL.includes(name) ? this.#before.section(name) : undefined;
  }
}
