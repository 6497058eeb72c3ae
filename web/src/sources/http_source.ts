/** A server as the source of a run: `glassformer explore`. All addresses are below that of the page, which bears its token. */

import { MissingTensor } from "../formulas/evaluator.ts";
import { type Explanation, explainCell } from "../formulas/interpreter.ts";
import { rulesFor } from "../formulas/rules_for.ts";
import { type Heads, headsOf } from "../measures/heads.ts";
import { Dots, Part, type Picture, pictureOf } from "../numbers/dots.ts";
import { metadataOf, readTensors, sizeOf, type Tensor } from "../numbers/safetensors.ts";
import { axisNames, type Cell } from "../record/axes.ts";
import { FORMAT, type Formula, type Honesty } from "../record/record.ts";
import type { Offer, Overview, TreeWish, Wish } from "../record/wishes.ts";
import { LANGUAGE, say } from "../words/say.ts";
import type { QUERIES } from "./addresses.ts";
import { RefusedError } from "./refused.ts";
import { inBytes, inJson, modelPath, type Query, request, runPath } from "./requests.ts";
import { ServedHeads } from "./served_heads.ts";
import { bytesBeside, type Large, numbersIn, type Source, toldBeside, type Wanted } from "./source.ts";
import { Together } from "./together.ts";
import { explanationOf, type Shortened, type Told, type Written } from "./told.ts";

/** A tensor of so many numbers can be had whole even where the run is not: scores at a place, a table 192 wide. */
const FETCHED_WHOLE = 36_864;

/** So many pictures are asked for at once: those of a block, which is computed for all of them together. */
const DRAWN_AT_ONCE = 32;

/** What came with the page itself, of the run that it begins with. */
interface Beside {
  readonly run?: unknown;
  readonly vocabulary?: unknown;
  readonly numbers?: Promise<ArrayBuffer> | undefined;
}

/** Pictures of several tensors, and the scale of each. */
interface Drawn {
  readonly found: ReadonlyMap<string, Tensor>;
  readonly told: Readonly<Record<string, string>>;
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
  readonly #drawing = new Map<string, Together<Drawn>>();
  readonly #heads = new ServedHeads((query) => this.#again(() => inBytes(this.#path("heads", query))));

  private constructor(run: Overview, offers: readonly Offer[], models: Map<string, Model>) {
    if (run.format !== FORMAT) throw new Error(say`this page reads format ${FORMAT}, not ${run.format}`);
    this.run = run;
    this.offers = offers;
    this.#models = models;
  }

  /** The run that the server starts with. */
  static async open(): Promise<HttpSource> {
    performance.mark("opening");
    const beside = {
      run: toldBeside("run"),
      vocabulary: toldBeside("vocabulary"),
      numbers: bytesBeside("numbers"),
    };
    const { models, start } = ((await toldBeside("models")) ?? (await inJson("api/models"))) as {
      models: Offer[];
      start: Wish;
    };
    return HttpSource.#ask(start, models, new Map(), beside);
  }

  /** Another run; this one stays as it is. The server stops a run whose `signal` is aborted. */
  ask(wish: Wish, signal?: AbortSignal): Promise<HttpSource> {
    return HttpSource.#ask(wish, this.offers, this.#models, {}, signal, this.run);
  }

  static async #ask(
    wish: Wish,
    offers: readonly Offer[],
    models: Map<string, Model>,
    beside: Beside,
    signal?: AbortSignal,
    like?: Overview,
  ): Promise<HttpSource> {
    const asked =
      beside.run ??
      request(`api/runs${like === undefined ? "" : `?like=${like.run}`}`, {
        method: "POST",
        body: JSON.stringify(wish),
        signal: signal ?? null,
      }).then((answer) => answer.json());
    let model = models.get(wish.model);
    if (model === undefined) {
      const vocabulary = beside.vocabulary ?? inJson(`${modelPath(wish.model)}/vocabulary`);
      model = { vocabulary: Promise.resolve(vocabulary as string[]), weights: undefined };
      model.vocabulary.catch(() => models.delete(wish.model));
      models.set(wish.model, model);
    }
    const told = (await asked) as Overview & { readonly like?: string };
    // What it has in common with the run that the page has is not sent again.
    const run = told.like === undefined ? told : { ...like, ...told };
    const words = { ...run.words, vocabulary: await model.vocabulary };
    await rulesFor(run.formulas);
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
    return (await this.#again(async () => inJson(this.#path("honesty", {})))) as Honesty | null;
  }

  /** The search for a translation, as `levels/tree/written/search.ts` reads it. */
  async search(wish: TreeWish): Promise<unknown> {
    return (await request("api/trees", { method: "POST", body: JSON.stringify(wish) })).json();
  }

  async section(name: string): Promise<unknown> {
    if (this.run.sections?.includes(name) === false) return undefined;
    return this.#again(async () => inJson(this.#path("section", { name })));
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
    const bytes = (): Promise<ArrayBuffer> => beside ?? this.#again(() => inBytes(this.#path("numbers", {})));
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
    if (found === undefined) throw new Error(say`the server has sent no numbers of ${name}`);
    return found;
  }

  /** A part of a tensor as dots, its last two axes in at most so many rows and columns. */
  async picture(
    name: string,
    part: string,
    size: { rows: number; columns: number },
    signal?: AbortSignal,
  ): Promise<Picture> {
    const query = { name, part, rows: String(size.rows), columns: String(size.columns) };
    return pictureOf(await this.#again(() => inBytes(this.#path("picture", query), signal)), name);
  }

  /** Pictures and parts of what is not sent whole. */
  get large(): Large | undefined {
    if (this.run.whole && this.run.whole_weights) return undefined;
    return {
      shape: (name) => {
        const sent = name.startsWith("parameters.") ? this.run.whole_weights : this.run.whole;
        return sent ? undefined : (this.run.shapes[name] ?? this.run.weights[name]);
      },
      dots: async (name, rows, columns) => {
        const { found, told } = await this.#drawn(rows, columns).of(name);
        const dots = found.get(name);
        if (dots === undefined) throw new Error(say`the server has sent no picture of ${name}`);
        return new Dots(this.run.shapes[name] ?? this.run.weights[name] ?? dots.shape, dots, Number(told[name]));
      },
      window: async (name, from, to, signal) => {
        const part = from.map((first, axis) => `${first}:${to[axis] ?? first + 1}`).join(",");
        const shape = this.run.shapes[name] ?? this.run.weights[name] ?? [];
        return new Part(shape, await this.part(name, part, signal), from);
      },
    };
  }

  /** Pictures of whole tensors in at most so many rows and columns. */
  #drawn(rows: number, columns: number): Together<Drawn> {
    const key = `${rows} ${columns}`;
    const drawing =
      this.#drawing.get(key) ??
      new Together(DRAWN_AT_ONCE, async (names) => {
        const query = { names: names.join(), rows: String(rows), columns: String(columns) };
        const sent = await this.#again(() => inBytes(this.#path("pictures", query)));
        return { found: readTensors(sent), told: metadataOf(sent) };
      });
    this.#drawing.set(key, drawing);
    return drawing;
  }

  /** Worked out here where the run is here whole, else by the server, whose pictures have one byte a dot. */
  async heads(attention: string, sentence: number, dots: number): Promise<Heads | undefined> {
    if (this.whole) return headsOf(this.run, (name) => this.tensor(name), attention, sentence, dots);
    return this.#heads.of(attention, sentence, dots);
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

  /** Several numbers in one request: a server answers two requests at a time. */
  async explainAll(wanted: readonly Wanted[], signal?: AbortSignal): Promise<Explanation[]> {
    const numbers = wanted.map(({ formula, cell }) => `${formula.name}:${indexOf(formula, cell)}`).join(";");
    const told = (await this.#again(() => inJson(this.#path("explained", { numbers }), signal))) as Told[];
    return wanted.flatMap(({ formula, cell }, at) => {
      const each = told[at];
      return each === undefined ? [] : [explanationOf(each, formula, cell)];
    });
  }

  /** The page of this run as one file. */
  async page(): Promise<string> {
    return this.#again(async () => (await request(this.#path("page", { language: LANGUAGE }))).text());
  }

  async #explained(formula: Formula, cell: Cell, signal?: AbortSignal): Promise<Shortened> {
    const query = { name: formula.name, cell: indexOf(formula, cell) };
    const told = (await this.#again(() => inJson(this.#path("explain", query), signal))) as Told;
    return explanationOf(told, formula, cell);
  }

  #path<What extends keyof typeof QUERIES>(what: What, query: Query<What>): string {
    return runPath(this.run.run, what, query);
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

/** A cell along the axes of its tensor, as an address has it. */
function indexOf(formula: Formula, cell: Cell): string {
  return axisNames(formula.axes)
    .map((axis) => cell[axis] ?? 0)
    .join(",");
}
