/** What makes a run with changes: this page itself, where the model is small, or the server behind it. */

import { axisNames, type Cell } from "../run/axes.ts";
import type { Fetch } from "../run/evaluator.ts";
import { type Heads, headsOf } from "../run/heads.ts";
import { HttpSource, type Offer, type Wish } from "../run/http_source.ts";
import { type Explanation, explainCell } from "../run/interpreter.ts";
import { fullShape, Recomputer, workOfRun } from "../run/recompute.ts";
import type { Editing, Formula, RunRecord } from "../run/record.ts";
import type { Tensor } from "../run/safetensors.ts";
import { numbersIn, type Source } from "../run/source.ts";
import type { Change, Step, TextChange, Which } from "./changes.ts";
import { MASK, Reader } from "./given.ts";
import { handOf, misfit } from "./hand.ts";

/** A run with changes; `steps` are those that set its numbers, `refused` a sentence for each that could not be made. */
export interface Made {
  readonly source: Source;
  readonly steps: readonly Step[];
  readonly refused: readonly string[];
}

/** How words can be changed: as parts of a text, token by token, or not at all. */
export type WordsBy = "text" | "token" | "none";

export interface Engine {
  readonly words: WordsBy;
  /** Why nothing can be changed here; empty where it can. */
  readonly why: string;
  /** The models that can be chosen, those of the server. */
  readonly offers: readonly Offer[];
  /** The texts before any change, of one kind; null where they are not known. */
  texts(model: string, which: Which): readonly string[] | null;
  make(model: string, changes: readonly Change[], stop: AbortSignal): Promise<Made>;
}

/** Multiplications and additions that a page may need for one change: 0.1 s on a slow machine. */
export const MOST_WORK = 20_000_000;

/** The engine for what a page has opened. */
export async function engineOf(source: Source): Promise<Engine> {
  if (source instanceof HttpSource) return new Server(source);
  const { run } = source;
  const editing = run.editing ?? null;
  if (editing === null) return new Nothing(null, "It was written without what a change needs.");
  if (Object.keys(run.left_out).length > 0) return new Nothing(editing, "It does not carry all numbers of its run.");
  if (editing.steps.some((step) => step.kind === "patch"))
    return new Nothing(editing, "It holds numbers of another run.");
  const found = await opened(source, [...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  const work = workOfRun(run, (name) => found.get(name) ?? weightOf(run, name));
  if (work <= MOST_WORK) return new InPage(source, editing, found);
  const millions = Math.round(work / 1e6).toLocaleString("en");
  return new Nothing(editing, `It takes ${millions} million multiplications, too many for a page.`);
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
  #weights: Promise<Map<string, Tensor>> | undefined;
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
    const base = this.#source.run;
    // The weights are opened when they are first needed: the first picture does without them.
    this.#weights ??= opened(this.#source, Object.keys(base.weights));
    for (const [name, tensor] of await this.#weights) this.#stored.set(name, tensor);
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

const NO_TEXTS = "This page reads no other texts: only a live page has the tokenizer.";

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
    const row = Array.from({ length: count }, (_, id) => probabilities.data[place * count + id] ?? 0);
    return [sentence, token, run.words.vocabulary[row.indexOf(Math.max(...row))] ?? MASK];
  });
  return { ...run, words: { ...run.words, answers } };
}

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

  /** The model is still the same. */
  async training(mark: string): Promise<unknown> {
    return this.#before.training?.(mark);
  }

  /** What was told beside the tensors was told of the run before the changes. */
  async section(): Promise<unknown> {
    return undefined;
  }
}

/** A server's models, any texts, all changes. */
class Server implements Engine {
  readonly why = "";
  readonly words = "text";
  readonly offers: readonly Offer[];
  readonly #first: HttpSource;

  constructor(first: HttpSource) {
    this.#first = first;
    this.offers = first.offers;
  }

  #base(model: string): Wish {
    const { asked } = this.#first.run;
    const offer = this.offers.find(({ name }) => name === model);
    if (model === "" || model === asked.model || offer === undefined) return asked;
    return { model: offer.name, texts: offer.texts, seconds: offer.seconds, choices: offer.choices };
  }

  texts(model: string, which: Which): readonly string[] | null {
    const { texts, seconds, choices } = this.#base(model);
    if (which === "target") return null;
    return (which === "text" ? texts : which === "second" ? seconds : choices) ?? null;
  }

  async make(model: string, changes: readonly Change[], stop: AbortSignal): Promise<Made> {
    const base = this.#base(model);
    const texts = changes.filter((change) => change.kind === "text");
    const steps = [...(base.steps ?? []), ...changes.filter((change) => change.kind !== "text")];
    const known = model === "" || this.offers.some(({ name }) => name === model);
    const refused = known ? [] : [`This server offers no model “${model}”.`];
    const second = base.seconds ?? null;
    const wish = {
      model: base.model,
      texts: rewritten(base.texts, texts, "text"),
      seconds: second === null ? null : rewritten(second, texts, "second"),
      choices: base.choices == null ? null : rewritten(base.choices, texts, "choice"),
      target_ids: base.target_ids ?? null,
      steps,
    };
    const targets = texts.filter(({ which, row }) => which === "target" && row < wish.texts.length);
    if (targets.length > 0) {
      const given = new Map(targets.map(({ row, text }) => [row, text.split(" ").map(Number)]));
      wish.target_ids = await this.#targets(wish, given, stop);
      wish.seconds = null;
    }
    return { source: await this.#first.ask(wish, stop), steps, refused };
  }

  /** The tokens that the decoder reads of each text: either all have them as tokens, or none. */
  async #targets(wish: Wish, given: ReadonlyMap<number, number[]>, stop: AbortSignal): Promise<number[][]> {
    const plain = given.size === wish.texts.length ? null : await this.#first.ask(wish, stop);
    const read = async (row: number): Promise<number[]> => {
      const ids = (await plain?.numbersAt("decoder_inputs.ids", [row])) ?? [];
      return Array.from(ids).slice(0, plain?.run.words.decoder_inputs[row]?.length);
    };
    return Promise.all(wish.texts.map(async (_, row) => given.get(row) ?? (await read(row))));
  }
}

/** The texts with those that read otherwise now; one more at the end is one more text, an empty one is left out. */
export function rewritten(before: readonly string[], changes: readonly TextChange[], which: Which): string[] {
  const found = [...before];
  for (const change of changes) {
    if (change.which === which && change.row <= found.length) found[change.row] = change.text;
  }
  return found.filter((text) => text.trim() !== "");
}
