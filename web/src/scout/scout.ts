/** Finds what the tour is about, in any model: tensors by the ends of their names, words, and one example to follow. */

import type { State } from "../address/state.ts";
import { type Fetch, MissingTensor, operandsOf } from "../formulas/evaluator.ts";
import { lastOf, type Names, quoted } from "../formulas/names.ts";
import { range } from "../numbers/arithmetic.ts";
import { at, type Tensor } from "../numbers/safetensors.ts";
import { percent, short } from "../numbers/written.ts";
import type { Formula, Side } from "../record/record.ts";
import type { Store } from "../run/store.ts";
import { type Example, exampleOf } from "./example.ts";
import type { Said, Shown } from "./said.ts";

/** Steps along axes; an axis that is not given is that of the example. */
export type Given = Readonly<Record<string, number>>;

export class Scout {
  readonly names: Names;
  readonly fetch: Fetch;
  readonly sentence: number;
  /** The first self-attention of the stack: `encoder.blocks.0.self_attention`; empty where there is none. */
  readonly attention: string;
  /** `encoder` or `decoder`: the stack that is followed. */
  readonly stack: string;
  readonly side: Side;
  #example: Example | undefined;

  /** `within`: the stack that is followed; empty: the first. */
  constructor(names: Names, fetch: Fetch, sentence: number, within = "") {
    this.names = names;
    this.fetch = fetch;
    this.sentence = sentence;
    const weights = names.run.formulas.find(({ name }) => {
      return name.startsWith(within) && name.endsWith(".self_attention.weights");
    });
    this.attention = weights?.name.replace(/\.weights$/, "") ?? "";
    this.stack = this.attention.split(".")[0] ?? "";
    this.side = weights?.tokens ?? "inputs";
  }

  /** The same run with other numbers in the place of some tensors. */
  over(tensors: ReadonlyMap<string, Tensor>): Scout {
    return new Scout(this.names, (name) => tensors.get(name) ?? this.fetch(name), this.sentence, this.stack);
  }

  /** The same sentence, or the one that belongs to it, in another stack; empty: in the first. */
  beside(stack: "" | "encoder" | "decoder"): Scout {
    return scoutOf(this, this.sentence, stack);
  }

  // ------------------------------------------------------------------ tensors

  has(name: string): boolean {
    return this.names.formulas.has(name);
  }

  formula(name: string): Formula | undefined {
    return this.names.formulas.get(name);
  }

  /** A tensor of the attention that is followed. */
  of(last: string): string {
    return `${this.attention}.${last}`;
  }

  /** A tensor of the embedding. */
  embed(last: string): string {
    return `${this.stack}.embed.${last}`;
  }

  /** A tensor of the block after the attention. */
  after(last: string): string {
    return this.attention.replace("self_attention", last);
  }

  /** Whether there is an attention to follow. */
  get attends(): boolean {
    return this.attention !== "";
  }

  /** The weights of the attention from the decoder to the encoder; empty where there is none. */
  get crossing(): string {
    return this.ending("weights").find(({ name }) => name.includes(".cross_attention."))?.name ?? "";
  }

  /** The tensors that a formula reads, without one role. */
  operands(name: string, without = ""): string[] {
    const rule = this.formula(name)?.rule;
    return rule === undefined
      ? []
      : operandsOf(rule).flatMap(([role, operand]) => (role === without ? [] : [operand.name]));
  }

  /** A projection of the attention: what goes in, what comes out of each head, heads, weights in all. */
  table(last: string): { input: number; out: number; heads: number; all: number } {
    const [rows = 1, input = 1] = this.shape(this.weight(this.of(last)));
    const out = this.size(this.of(last), "channel");
    return { input, out, heads: rows / out, all: rows * input };
  }

  weight(name: string): string {
    return `parameters.${name}.weight`;
  }

  tensor(name: string): Tensor {
    const found = this.fetch(name);
    if (found === undefined) throw new MissingTensor(name);
    return found;
  }

  shape(name: string): readonly number[] {
    return this.names.run.weights[name] ?? this.tensor(name).shape;
  }

  size(name: string, axis: string): number {
    return this.shape(name)[this.names.axes(name).indexOf(axis)] ?? 1;
  }

  // ------------------------------------------------------------------ counts

  get sentences(): number {
    return this.names.run.words[this.side].length || (this.fetch(this.of("weights"))?.shape[0] ?? 1);
  }

  get tokens(): number {
    return this.names.run.words[this.side][this.sentence]?.length ?? this.size(this.of("weights"), "query");
  }

  get heads(): number {
    return this.size(this.of("weights"), "head");
  }

  // ------------------------------------------------------------------ words

  word(token: number): Said {
    const { text } = this.names.word(this.side, this.sentence, token);
    return { text, of: this.isHidden(token) ? "hidden" : "strong" };
  }

  isHidden(token: number): boolean {
    if (this.names.word(this.side, this.sentence, token).hidden) return true;
    const mask = this.fetch(`${this.side}.masked_words`);
    return mask !== undefined && at(mask, [Math.min(this.sentence, (mask.shape[0] ?? 1) - 1), token]) !== 0;
  }

  get hidden(): number[] {
    return this.all.filter((token) => this.isHidden(token));
  }

  get all(): number[] {
    return range(this.tokens);
  }

  /** The words that the model sees, without points and marks such as [CLS]; all where nothing else is left. */
  get seen(): number[] {
    const words = this.names.run.words[this.side][this.sentence] ?? [];
    const plain = (word: string): boolean => /[\p{L}\p{N}]/u.test(word) && !/^(\[.+\]|<.+>)$/.test(word);
    const found = this.all.filter((token) => !this.isHidden(token) && plain(words[token] ?? "token 0"));
    return found.length > 0 ? found : this.all;
  }

  // ------------------------------------------------------------------ the example

  /** A hidden word, or else any, with the word that it looks at most. */
  get example(): Example {
    this.#example ??= exampleOf(this);
    return this.#example;
  }

  /** The key that a word looks at most in a head. */
  favourite(head: number, query = this.example.query, name = this.of("weights"), keys = this.all): number {
    const share = (key: number): number => this.value(name, { head, query, key });
    return keys.reduce((best, key) => (share(key) > share(best) ? key : best), 0);
  }

  // ------------------------------------------------------------------ cells and numbers

  cell(name: string, given: Given = {}): number[] {
    const { query, key, head } = this.example;
    const shape = this.shape(name);
    const known: Given = { sentence: this.sentence, token: given["query"] ?? query, query, key, head, ...given };
    return this.names.axes(name).map((axis, place) => {
      const size = shape[place] ?? 1;
      const shared = axis === "key_value_head" ? Math.floor(((known["head"] ?? 0) * size) / this.heads) : undefined;
      return Math.min(shared ?? known[axis] ?? 0, size - 1);
    });
  }

  value(name: string, given: Given = {}): number {
    return at(this.tensor(name), this.cell(name, given));
  }

  number(name: string, given: Given = {}): Shown {
    const cell = this.cell(name, given);
    const value = at(this.tensor(name), cell);
    return { text: short(value), of: this.names.role(name), name, cell, value };
  }

  share(name: string, given: Given = {}): Shown {
    const found = this.number(name, given);
    return { ...found, text: percent(found.value) };
  }

  /** Where the vocabulary was scored in this sentence: the steps along its axes, and the word that stands there. */
  get guesses(): { readonly given: Given; readonly word: Said; readonly token: number }[] {
    const name = "head.probabilities";
    if (!this.has(name)) return [];
    const { places } = this.names.run;
    const side = this.formula(name)?.tokens ?? this.side;
    // Places after the end of a shorter text are padding.
    const count = this.names.run.words[side][this.sentence]?.length || Infinity;
    const word = (token: number): Said => {
      const { text, hidden } = this.names.word(side, this.sentence, token);
      return { text, of: hidden ? "hidden" : "strong" };
    };
    if (this.names.axes(name).includes("place")) {
      return places.flatMap(([sentence, token], place) => {
        return sentence === this.sentence && token < count ? [{ given: { place }, word: word(token), token }] : [];
      });
    }
    return range(Math.min(this.size(name, "token"), count), (token) => ({
      given: { token },
      word: word(token),
      token,
    }));
  }

  /** The likeliest entries of the vocabulary at a place, and how likely they are. */
  likeliest(given: Given, count: number): { readonly word: Said; readonly share: Shown }[] {
    const name = "head.probabilities";
    const tensor = this.tensor(name);
    const base = this.cell(name, given).slice(0, -1);
    const shares = range(tensor.shape.at(-1) ?? 0, (id) => at(tensor, [...base, id]));
    const first = [...shares.keys()].sort((one, two) => (shares[two] ?? 0) - (shares[one] ?? 0)).slice(0, count);
    return first.map((vocabulary) => {
      const { text } = this.names.label(name, "vocabulary", vocabulary, this.sentence);
      return { word: { text: quoted(text), of: "strong" }, share: this.share(name, { ...given, vocabulary }) };
    });
  }

  // ------------------------------------------------------------------ where to look

  at(level: State["level"], name: string, given: Given = {}): Partial<State> {
    const unit = this.formula(name)?.unit ?? this.names.readers(name)[0]?.[0].unit ?? "";
    const cell = this.cell(name, given);
    return { level, unit, tensor: name, cell, sentence: this.sentence, layout: [], picture: "", at: [], scene: "" };
  }

  scene(scene: string, name: string, given: Given = {}): Partial<State> {
    return { ...this.at("scene", name, given), scene };
  }

  /** What may not be looked at in this sentence, and one pair of words for it: each kind has a text of its own. */
  get forbidden(): { kind: "hidden" | "ahead" | "some" | "nothing"; query: number; key: number; count: number } {
    const name = this.of("may_look");
    const rule = this.formula(name)?.rule;
    const [hidden] = this.hidden;
    const { query } = this.example;
    if (rule?.["masked_words"] !== undefined && hidden !== undefined)
      return { kind: "hidden", query, key: hidden, count: 0 };
    const last = this.tokens - 1;
    if (rule?.["causal"] === true && last > 0) return { kind: "ahead", query: 0, key: last, count: 0 };
    const tensor = this.tensor(name);
    const base = this.cell(name, { head: 0, query: 0, key: 0 });
    const shared = (tensor.shape[2] ?? 1) === 1;
    const none: { query: number; key: number }[] = [];
    for (const one of this.all) {
      for (const two of this.all) {
        if (at(tensor, [base[0] ?? 0, 0, shared ? 0 : one, two]) === 0) none.push({ query: one, key: two });
      }
    }
    const [first = { query, key: query }] = none;
    return { kind: none.length > 0 ? "some" : "nothing", ...first, count: none.length };
  }

  /** Whether hidden words are zeros before their position is added. */
  get zeroesWords(): boolean {
    return this.formula(this.embed("word"))?.rule["masked_words"] !== undefined;
  }

  /** Whether they are zeros at all, rather than a token of their own. */
  get zeroes(): boolean {
    return this.zeroesWords || this.formula(this.embed("sum"))?.rule["masked_words"] !== undefined;
  }

  /** Whether the model guesses what comes after each word. */
  get writes(): boolean {
    return this.crossing !== "" || this.formula(this.of("may_look"))?.rule["causal"] === true;
  }

  /** The blocks of the stack that is followed. */
  get blocks(): number {
    return this.names.run.model.stacks.find(({ side }) => side === this.stack)?.layers ?? 1;
  }

  /** The formulas whose last name is this one, in the order of computation. */
  ending(last: string): Formula[] {
    return this.names.run.formulas.filter(({ name }) => lastOf(name) === last);
  }
}

const scouts = new WeakMap<Names, Map<string, Scout>>();

/** One for each sentence and stack, for its example is searched through all heads. */
export function scoutOf({ names, fetch }: Pick<Store, "names" | "fetch">, sentence: number, within = ""): Scout {
  const kept = scouts.get(names) ?? new Map<string, Scout>();
  scouts.set(names, kept);
  const key = `${within} ${sentence}`;
  const scout = kept.get(key) ?? new Scout(names, fetch, sentence, within);
  kept.set(key, scout);
  return scout;
}
