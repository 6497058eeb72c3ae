/** A server as the source of a run: `glassformer explore`. All addresses are below that of the page, which bears its token. */

import { axisNames, type Cell } from "./axes.ts";
import { carrier } from "./carrier.ts";
import { Dots, Part } from "./dots.ts";
import { MissingTensor, type Term } from "./evaluator.ts";
import { type Heads, headsOf, type Measure, measuredFrom } from "./heads.ts";
import { type Explanation, explainCell } from "./interpreter.ts";
import { FORMAT, type Formula, type Honesty, type RunRecord, type Side } from "./record.ts";
import { metadataOf, readTensors, sizeOf, type Tensor } from "./safetensors.ts";
import { arrived, type Large, numbersIn, type Source } from "./source.ts";
import type { Step } from "./step.ts";

export type { Step };

/** Texts through a model; `seconds` are second texts of pairs or targets, `choices` the candidates of the only text. */
export interface Wish {
  readonly model: string;
  readonly texts: readonly string[];
  readonly seconds?: readonly string[] | null;
  readonly choices?: readonly string[] | null;
  /** What the decoder reads for each text, as tokens. */
  readonly target_ids?: readonly (readonly number[])[] | null;
  readonly steps?: readonly Step[];
}

/** A text to be translated, continued or replied to, and how; what is left out is as the model writes otherwise. */
export interface TreeWish {
  readonly model: string;
  readonly text: string;
  readonly beams?: number | undefined;
  readonly length_penalty?: number | undefined;
  readonly sample?: boolean;
  readonly temperature?: number | undefined;
  readonly top_k?: number | undefined;
  readonly top_p?: number | undefined;
  readonly n_best?: number | undefined;
  readonly max_tokens?: number | undefined;
  readonly seed?: number | undefined;
}

/** A model that can be chosen, with texts to begin with. */
export interface Offer {
  readonly name: string;
  readonly texts: readonly string[];
  readonly seconds: readonly string[] | null;
  readonly choices: readonly string[] | null;
}

/** Which of the texts of a row a token is of, and its characters; null for a token that was added. */
export type Span = readonly [which: number, start: number, end: number] | null;

/** What is known of a run before any number; see `explorer/server/overview.py`. */
export interface Overview extends RunRecord {
  readonly run: string;
  readonly asked: Wish;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly spans: Readonly<Record<Side, readonly (readonly Span[])[] | null>>;
  readonly attentions: Readonly<Record<string, number>>;
  readonly whole: boolean;
  readonly whole_weights: boolean;
  /** The verb by which the model writes. */
  readonly writes?: "translate" | "generate" | "chat" | null;
  /** The sections that the server works out. */
  readonly sections?: readonly string[];
}

/** How dots stand for numbers; `signed`: see `Dots`. */
export type Scale = "linear" | "log" | "signed";

/** Dots of one byte: 0 is not finite, 1 the lowest number, 255 the highest. */
export interface Picture {
  readonly dots: Tensor;
  readonly lowest: number;
  readonly highest: number;
  readonly scale: Scale;
}

/** A tensor of at most so many numbers can be had whole even where the run is not: a vocabulary's scores at one place. */
const FETCHED_WHOLE = 32_768;

/** The largest terms of a sum that is too long to be sent, and what the others add up to. */
export interface Shortened extends Explanation {
  readonly left: { readonly count: number; readonly sum: number };
}

/** Of so many attentions heads are asked for at once: a server answers two questions at a time. */
const AT_ONCE = 12;

interface Sent {
  readonly found: ReadonlyMap<string, Tensor>;
  readonly told: Readonly<Record<string, string>>;
}

/** The server's sentence about what it cannot do. */
export class RefusedError extends Error {
  readonly status: number;
  readonly wanted: string;
  readonly got: string;
  readonly todo: string;

  constructor(status: number, told: { text: string; wanted: string; got: string; do: string }) {
    super(told.text);
    this.status = status;
    this.wanted = told.wanted;
    this.got = told.got;
    this.todo = told.do;
  }
}

/** What came with the page itself, of the run that it begins with. */
interface Beside {
  readonly run?: Promise<unknown> | undefined;
  readonly vocabulary?: Promise<unknown> | undefined;
  readonly numbers?: Promise<ArrayBuffer> | undefined;
}

/** What does not change from run to run. */
interface Model {
  readonly vocabulary: Promise<readonly string[]>;
  weights: Promise<Map<string, Tensor>> | undefined;
}

export class HttpSource implements Source {
  readonly run: Overview;
  readonly offers: readonly Offer[];
  readonly #models: Map<string, Model>;
  readonly #tensors = new Map<string, Promise<Tensor | undefined>>();
  /** What is at hand without waiting, for the interpreter. */
  readonly #known = new Map<string, Tensor>();
  #numbers: Promise<Map<string, Tensor>> | undefined;
  /** Which heads are about to be asked for, by sentence and size. */
  readonly #asking = new Map<string, { names: string[]; sent: Promise<Sent> }>();

  private constructor(run: Overview, offers: readonly Offer[], models: Map<string, Model>) {
    if (run.format !== FORMAT) throw new Error(`this page reads format ${FORMAT}, not ${run.format}`);
    this.run = run;
    this.offers = offers;
    this.#models = models;
  }

  /** The run that the server starts with. */
  static async open(): Promise<HttpSource> {
    performance.mark("opening");
    const json = (id: string): Promise<unknown> | undefined => arrived(id)?.then(parsed);
    const beside = { run: json("run"), vocabulary: json("vocabulary"), numbers: arrived("numbers") };
    const { models, start } = (await (json("models") ?? inJson("api/models"))) as { models: Offer[]; start: Wish };
    return HttpSource.#ask(start, models, new Map(), beside);
  }

  /** Another run; this one stays as it is. The server stops a run whose `signal` is aborted. */
  ask(wish: Wish, signal?: AbortSignal): Promise<HttpSource> {
    return HttpSource.#ask(wish, this.offers, this.#models, {}, signal);
  }

  static async #ask(
    wish: Wish,
    offers: readonly Offer[],
    models: Map<string, Model>,
    beside: Beside,
    signal?: AbortSignal,
  ): Promise<HttpSource> {
    const asked =
      beside.run ??
      request("api/runs", { method: "POST", body: JSON.stringify(wish), signal: signal ?? null }).then((answer) =>
        answer.json(),
      );
    let model = models.get(wish.model);
    if (model === undefined) {
      const vocabulary = beside.vocabulary ?? inJson(`${modelPath(wish.model)}/vocabulary`);
      model = { vocabulary: vocabulary as Promise<string[]>, weights: undefined };
      model.vocabulary.catch(() => models.delete(wish.model));
      models.set(wish.model, model);
    }
    const run = (await asked) as Overview;
    const words = { ...run.words, vocabulary: await model.vocabulary };
    const source = new HttpSource({ ...run, words }, offers, models);
    if (run.whole) await source.#everything(beside.numbers);
    return source;
  }

  get whole(): boolean {
    return this.run.whole;
  }

  atHand(name: string): Tensor | undefined {
    return this.#known.get(name);
  }

  shape(name: string): readonly number[] | undefined {
    return this.#known.get(name)?.shape ?? this.run.shapes[name] ?? this.run.weights[name];
  }

  async numbersAt(name: string, index: readonly number[]): Promise<ArrayLike<number> | undefined> {
    const known = this.whole ? await this.tensor(name) : this.#known.get(name);
    return known === undefined ? (await this.part(name, index.join(","))).data : numbersIn(known, index);
  }

  /** The honesty gate: it takes as long as the run, and is measured when it is first asked for. */
  async honesty(): Promise<Honesty | null> {
    return (await this.#again(async () => inJson(this.#path("honesty")))) as Honesty | null;
  }

  /** The search for a translation, as `levels/tree/search.ts` reads it. */
  async search(wish: TreeWish): Promise<unknown> {
    return (await request("api/trees", { method: "POST", body: JSON.stringify(wish) })).json();
  }

  async section(name: string): Promise<unknown> {
    if (this.run.sections?.includes(name) === false) return undefined;
    return this.#again(async () => inJson(this.#path(`section?name=${encodeURIComponent(name)}`)));
  }

  async training(mark: string): Promise<unknown> {
    const told = await inJson(`${modelPath(this.run.asked.model)}/training?known=${encodeURIComponent(mark)}`);
    return told ?? undefined;
  }

  /** The numbers of a tensor, a weight or a fact, whole; undefined where it is too large: see `large`. */
  tensor(name: string): Promise<Tensor | undefined> {
    let found = this.#tensors.get(name);
    if (found === undefined) {
      found = this.#tensor(name);
      this.#tensors.set(name, found);
      found.catch(() => this.#tensors.delete(name));
    }
    return found;
  }

  async #tensor(name: string): Promise<Tensor | undefined> {
    let found: Tensor | undefined;
    if (name.startsWith("parameters.") ? this.run.whole_weights : this.run.whole) {
      found = (await (name.startsWith("parameters.") ? this.#weights() : this.#everything())).get(name);
    } else if (sizeOf(this.large?.shape(name) ?? []) <= FETCHED_WHOLE) {
      found = await this.part(name, "");
    }
    if (found !== undefined) this.#known.set(name, found);
    return found;
  }

  #everything(beside?: Promise<ArrayBuffer>): Promise<Map<string, Tensor>> {
    const bytes = (): Promise<ArrayBuffer> => beside ?? this.#again(() => inBytes(this.#path("numbers")));
    this.#numbers ??= bytes().then((sent) => {
      const found = readTensors(sent);
      for (const [name, tensor] of found) this.#known.set(name, tensor);
      return found;
    });
    return this.#numbers;
  }

  #weights(): Promise<Map<string, Tensor>> {
    const name = this.run.asked.model;
    const model = this.#models.get(name);
    if (model === undefined) return Promise.resolve(new Map());
    model.weights ??= inBytes(`${modelPath(name)}/weights`).then(readTensors);
    model.weights.catch(() => {
      model.weights = undefined;
    });
    return model.weights;
  }

  /** A part of a tensor in its own type: an index or a range along each axis, as `0,3,:,16:48`; no axis is dropped. */
  async part(name: string, part: string, signal?: AbortSignal): Promise<Tensor> {
    const bytes = await this.#again(() => inBytes(this.#path("tensor", { name, part }), signal));
    const found = readTensors(bytes).get("numbers");
    if (found === undefined) throw new Error(`the server has sent no numbers of ${name}`);
    return found;
  }

  /** A part of a tensor as dots, its last two axes in at most so many rows and columns. */
  async picture(
    name: string,
    part: string,
    size: { rows: number; columns: number; scale?: Scale },
    signal?: AbortSignal,
  ): Promise<Picture> {
    const { rows, columns, scale = "linear" } = size;
    const query = { name, part, rows: String(rows), columns: String(columns), scale };
    const bytes = await this.#again(() => inBytes(this.#path("picture", query), signal));
    const dots = readTensors(bytes).get("picture");
    const told = metadataOf(bytes);
    if (dots === undefined) throw new Error(`the server has sent no picture of ${name}`);
    return { dots, scale, lowest: Number(told["lowest"]), highest: Number(told["highest"]) };
  }

  /** Pictures and parts of what is not sent whole. */
  get large(): Large | undefined {
    if (this.run.whole && this.run.whole_weights) return undefined;
    return {
      shape: (name) => {
        const sent = name.startsWith("parameters.") ? this.run.whole_weights : this.run.whole;
        return sent ? undefined : (this.run.shapes[name] ?? this.run.weights[name]);
      },
      dots: async (name, rows, columns, signal) => {
        const { dots, highest } = await this.picture(name, "", { rows, columns, scale: "signed" }, signal);
        return new Dots(this.run.shapes[name] ?? this.run.weights[name] ?? dots.shape, dots, highest);
      },
      window: async (name, from, to, signal) => {
        const part = from.map((first, axis) => `${first}:${to[axis] ?? first + 1}`).join(",");
        const shape = this.run.shapes[name] ?? this.run.weights[name] ?? [];
        return new Part(shape, await this.part(name, part, signal), from);
      },
    };
  }

  /** Worked out here where the run is here whole, else by the server, whose pictures have one byte a dot. */
  async heads(attention: string, sentence: number, dots: number): Promise<Heads | undefined> {
    if (this.whole) return headsOf(this.run, (name) => this.tensor(name), attention, sentence, dots);
    const { found, told } = await this.#headsOf(attention, sentence, dots);
    const [thumbnails, statistics] = [found.get(`${attention}.thumbnails`), found.get(`${attention}.statistics`)];
    if (thumbnails === undefined || statistics === undefined)
      throw new Error(`the server has sent no heads of ${attention}`);
    const order = (told["statistics"] ?? "").split(",");
    const shares = sharesOfDots(Number(told[`${attention}.lowest`]), Number(told[`${attention}.highest`]));
    const data = new Float32Array(thumbnails.data.length);
    for (let dot = 0; dot < data.length; dot++) data[dot] = shares[thumbnails.data[dot] ?? 0] ?? 0;
    return {
      thumbnails: { shape: thumbnails.shape, data },
      measured: Array.from({ length: statistics.shape[0] ?? 0 }, (_, head) => {
        const at = (measure: Measure): number => statistics.data[head * order.length + order.indexOf(measure)] ?? NaN;
        return measuredFrom(at);
      }),
    };
  }

  /** What is asked for of several attentions at once is one question, or a few for a deep model. */
  #headsOf(attention: string, sentence: number, dots: number): Promise<Sent> {
    const key = `${sentence} ${dots}`;
    let group = this.#asking.get(key);
    if (group === undefined || group.names.length === AT_ONCE) {
      const names: string[] = [];
      const sent = Promise.resolve().then(async () => {
        if (this.#asking.get(key)?.names === names) this.#asking.delete(key);
        const query = { attention: names.join(), sentence: String(sentence), dots: String(dots) };
        const bytes = await this.#again(() => inBytes(this.#path("heads", query)));
        return { found: readTensors(bytes), told: metadataOf(bytes) };
      });
      group = { names, sent };
      this.#asking.set(key, group);
    }
    group.names.push(attention);
    return group.sent;
  }

  /** The largest numbers at the beginning of an index, with their places: those of a vocabulary are not sent whole. */
  async largest(name: string, index: readonly number[], count: number): Promise<[place: number, value: number][]> {
    const query = { name, part: index.join(), count: String(count) };
    const told = (await this.#again(() => inJson(this.#path("largest", query)))) as {
      places: number[];
      values: Written[];
    };
    return told.places.map((place, order) => [place, Number(told.values[order])]);
  }

  /** One number: worked out in the page where the run is here whole, else by the server. */
  async explain(formula: Formula, cell: Cell, signal?: AbortSignal): Promise<Explanation> {
    if (!this.run.whole) return this.#explained(formula, cell, signal);
    for (;;) {
      try {
        return explainCell(formula, cell, (name) => this.#known.get(name), this.run);
      } catch (error) {
        if (!(error instanceof MissingTensor)) throw error;
        if (error.tensor.startsWith("parameters.") && !this.run.whole_weights) {
          return this.#explained(formula, cell, signal);
        }
        if ((await this.tensor(error.tensor)) === undefined) throw error;
      }
    }
  }

  /** The page of this run as one file. */
  async page(): Promise<string> {
    return this.#again(async () => (await request(this.#path("page"))).text());
  }

  async #explained(formula: Formula, cell: Cell, signal?: AbortSignal): Promise<Shortened> {
    const index = axisNames(formula.axes).map((axis) => cell[axis] ?? 0);
    const query = { name: formula.name, cell: index.join(",") };
    const told = (await this.#again(() => inJson(this.#path("explain", query), signal))) as Told;
    return {
      name: formula.name,
      cell,
      formula,
      value: Number(told.value),
      terms: told.terms.map(termOf),
      quantities: Object.fromEntries(Object.entries(told.quantities).map(([name, value]) => [name, Number(value)])),
      recomputed: Number(told.recomputed),
      difference: Number(told.difference),
      error: Number(told.error),
      left: { count: told.left.count, sum: Number(told.left.sum) },
    };
  }

  #path(what: string, query: Record<string, string> = {}): string {
    const asked = new URLSearchParams(query).toString();
    return `api/runs/${this.run.run}/${what}${asked === "" ? "" : `?${asked}`}`;
  }

  /** The server keeps few runs: one that it has forgotten is run again, under the same key. */
  async #again<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 404) throw error;
      await request("api/runs", { method: "POST", body: JSON.stringify(this.run.asked) });
      return work();
    }
  }
}

/** An explanation as the server writes it: numbers that JSON lacks are words. */
interface Told {
  readonly value: Written;
  readonly terms: readonly ToldTerm[];
  readonly quantities: Readonly<Record<string, Written>>;
  readonly recomputed: Written;
  readonly difference: Written;
  readonly error: Written;
  readonly left: { readonly count: number; readonly sum: Written };
}

type Written = number | "Infinity" | "-Infinity" | "NaN";

interface ToldTerm {
  readonly what: string;
  readonly factors: readonly (readonly [name: string | null, index: readonly number[], value: Written])[];
  readonly value: Written;
  readonly added: boolean;
}

function termOf(told: ToldTerm): Term {
  const factors = told.factors.map(([name, index, value]) => ({ name, index, value: Number(value) }));
  const term = { what: told.what, factors, value: Number(told.value) };
  return told.added ? { ...term, added: true } : term;
}

/** The share that each dot of a logarithmic picture stands for; 0 stands for none. */
function sharesOfDots(lowest: number, highest: number): Float32Array {
  const ratio = Math.log(highest / lowest);
  return Float32Array.from({ length: 256 }, (_, dot) => (dot === 0 ? 0 : lowest * Math.exp((ratio * (dot - 1)) / 254)));
}

function parsed(bytes: ArrayBuffer): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}

function modelPath(name: string): string {
  return `api/models/${encodeURIComponent(name)}`;
}

async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const answer = await carrier.fetch(path, options);
  if (answer.ok) return answer;
  const told = (await answer.json().catch(() => null)) as {
    error?: ConstructorParameters<typeof RefusedError>[1];
  } | null;
  throw new RefusedError(answer.status, told?.error ?? { text: answer.statusText, wanted: "", got: "", do: "" });
}

async function inJson(path: string, signal?: AbortSignal): Promise<unknown> {
  return (await request(path, { signal: signal ?? null })).json();
}

async function inBytes(path: string, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await request(path, { signal: signal ?? null })).arrayBuffer();
}
