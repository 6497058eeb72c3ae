/** The words of a run after changes by hand: its facts, where it is scored, and the formulas that then hold. */

import type { Fetch } from "../../formulas/evaluator.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Editing, RunRecord, Side } from "../../record/record.ts";
import { say } from "../../words/say.ts";
import type { Change, Step, TextChange } from "./changes.ts";
import { compared, MASK, wordsOf } from "./words.ts";

/** A page recomputes no longer texts by itself. */
const LONGEST = 64;

/** What a run is computed from, besides its weights. */
export interface Given {
  readonly run: RunRecord;
  readonly facts: ReadonlyMap<string, Tensor>;
  /** The changes that could not be made, a sentence each. */
  readonly refused: readonly string[];
}

/** Builds the facts of changed texts; a fact that is as it was last time stays the same tensor. */
export class Reader {
  readonly #run: RunRecord;
  readonly #editing: Editing;
  readonly #stored: Fetch;
  readonly #last = new Map<string, Tensor>();

  constructor(run: RunRecord, editing: Editing, stored: Fetch) {
    this.#run = run;
    this.#editing = editing;
    this.#stored = stored;
  }

  read(changes: readonly Change[]): Given {
    const refused: string[] = [];
    const texts = changes.filter((change) => change.kind === "text");
    let given: Given = { run: this.#run, facts: new Map(), refused };
    if (texts.length > 0 && !this.#editing.by_word) refused.push(say`This page has no tokenizer.`);
    else if (texts.length > 0) given = this.#texts(texts, refused);
    for (const change of changes) {
      if (change.kind === "change_word" || change.kind === "mask_word") given = this.#token(given, change);
    }
    return this.#formulas(given);
  }

  /** Other texts of the same number. */
  #texts(changes: readonly TextChange[], refused: string[]): Given {
    const run = this.#run;
    const vocabulary = new Map(run.words.vocabulary.map((word, id) => [word, id]));
    const before = run.words.inputs;
    const rows = before.map((row) => [...row]);
    for (const { which, row, text } of changes) {
      const words = wordsOf(text);
      const knows = (word: string): boolean => word === MASK || vocabulary.has(word);
      const unknown = words.find((word) => !knows(word));
      if (which !== "text" || rows[row] === undefined) refused.push(say`This page has no text ${row + 1} to change.`);
      else if (words.length === 0) refused.push(say`A text has at least one word.`);
      else if (words.length > LONGEST) refused.push(say`A text has at most ${LONGEST} words on this page.`);
      else {
        if (unknown !== undefined)
          refused.push(
            say`“${unknown}” is none of this model’s ${vocabulary.size} words: ${run.words.vocabulary.slice(0, 40).join(", ")}`,
          );
        // The other words of a text of as many words are changed all the same.
        const were = rows[row];
        if (unknown === undefined || words.length === were.length)
          rows[row] = words.map((word, at) => (knows(word) ? word : (were[at] ?? "")));
      }
    }
    const width = Math.max(...rows.map((row) => row.length));
    const cells = <T>(make: (row: readonly string[], token: number, sentence: number) => T): T[] =>
      rows.flatMap((row, sentence) => range(width, (token) => make(row, token, sentence)));
    const shape = [rows.length, width];
    const masks = cells((row, token) => Number(row[token] === MASK));
    const facts = new Map<string, Tensor>();
    const put = (name: string, size: readonly number[], data: number[]): void => {
      facts.set(name, this.#kept(name, { shape: size, data }));
    };
    const hides = this.#editing.mask_id ?? 0;
    put(
      "inputs.ids",
      shape,
      cells((row, token) => (row[token] === MASK ? hides : (vocabulary.get(row[token] ?? "") ?? 0))),
    );
    if (masks.includes(1) || this.#stored("inputs.masked_words") !== undefined)
      put("inputs.masked_words", shape, masks);
    const uneven = rows.some((row) => row.length < width) || this.#stored("inputs.real") !== undefined;
    if (uneven)
      put(
        "inputs.real",
        shape,
        cells((row, token) => Number(token < row.length)),
      );
    // Padding shares the position of the last word.
    const counted = uneven ? cells((row, token) => Math.min(token, row.length - 1)) : range(width);
    put("inputs.positions", uneven ? shape : [1, width], counted);
    const answers = rows.flatMap((row, sentence) => answered(before[sentence] ?? [], row, sentence, run));
    const scored_at =
      run.scored_at === null
        ? null
        : masks.flatMap((hidden, flat) => (hidden === 1 || !masks.includes(1) ? [flat] : []));
    const places = (scored_at ?? []).map((flat): [number, number] => [Math.floor(flat / width), flat % width]);
    const shown = rows.map((row) => [...row, ...new Array<string>(width - row.length).fill("–")]);
    return { run: { ...run, words: { ...run.words, inputs: shown, answers }, scored_at, places }, facts, refused };
  }

  /** Another token at a place, as Python's ChangeWord and MaskWord put it. */
  #token(given: Given, step: Extract<Step, { kind: "change_word" | "mask_word" }>): Given {
    const [side, sentence, place] = [step.where ?? "inputs", step.sentence ?? 0, Number(step.token)];
    const facts = new Map(given.facts);
    const fact = (name: string): Tensor | undefined => facts.get(name) ?? this.#stored(name);
    const ids = fact(`${side}.ids`);
    if (ids === undefined)
      return { ...given, refused: [...given.refused, say`This run was made from vectors, not from words.`] };
    const flat = sentence * (ids.shape[1] ?? 1) + place;
    const masks = step.kind === "mask_word";
    const token = masks ? step.mask_id : step.id;
    const id = token == null ? null : Number(token);
    const put = (name: string, tensor: Tensor | undefined, value: number): void => {
      const data = tensor === undefined ? new Array<number>(ids.data.length).fill(0) : Array.from(tensor.data);
      data[flat] = value;
      facts.set(name, this.#kept(name, { shape: ids.shape, data }));
    };
    if (id !== null) put(`${side}.ids`, ids, id);
    const marks = `${side}.masked_words`;
    const marked = fact(marks);
    if (masks || marked) put(marks, marked, Number(masks));
    const words = given.run.words;
    const was = words[side][sentence]?.[place] ?? "";
    const now = id === null ? MASK : (words.vocabulary[id] ?? say`token ${id}`);
    const rows = words[side].map((row, at) => (at === sentence ? row.with(place, now) : row));
    let { answers } = words;
    if (side === "inputs") {
      const old = answers.find(([row, token]) => row === sentence && token === place);
      answers = answers.filter((answer) => answer !== old);
      if (masks) answers = [...answers, [sentence, place, old?.[2] ?? was]];
    }
    return { ...given, facts, run: { ...given.run, words: { ...words, [side]: rows, answers } } };
  }

  /** The formulas that hold when facts are given that were not before. */
  #formulas(given: Given): Given {
    const more = [...given.facts.keys()].filter((name) => this.#stored(name) === undefined).sort();
    if (more.length === 0) return given;
    const found = this.#editing.otherwise.find((each) => [...each.given].sort().join() === more.join());
    if (found === undefined) throw new Error(say`this page has no formulas for ${more.join(say` and `)}`);
    const others = new Map(found.formulas.map((formula) => [formula.name, formula]));
    const formulas = given.run.formulas.map((formula) => others.get(formula.name) ?? formula);
    const side = (name: string): Side => (name.startsWith("decoder") ? "decoder_inputs" : "inputs");
    const added = more.map((name) => [name, { axes: ["sentence", "token"], side: side(name) }]);
    return { ...given, run: { ...given.run, formulas, facts: { ...given.run.facts, ...Object.fromEntries(added) } } };
  }

  #kept(name: string, tensor: Tensor): Tensor {
    for (const known of [this.#stored(name), this.#last.get(name)]) {
      if (known === undefined || known.shape.join() !== tensor.shape.join()) continue;
      if (Array.from(tensor.data).every((value, place) => value === known.data[place])) return known;
    }
    this.#last.set(name, tensor);
    return tensor;
  }
}

/** What a masked word of a text is called: the word that stood there, or what it was called before. */
function answered(
  before: readonly string[],
  after: readonly string[],
  sentence: number,
  run: RunRecord,
): [number, number, string][] {
  const known = new Map(run.words.answers.flatMap(([row, token, word]) => (row === sentence ? [[token, word]] : [])));
  return compared(before, after).flatMap(({ was, now, before: old, after: place }): [number, number, string][] => {
    if (now !== MASK) return [];
    const word = was === null || was === MASK ? known.get(old) : was;
    return [[sentence, place, word ?? MASK]];
  });
}
