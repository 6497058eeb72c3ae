/** The server of a page as the engine of its changes. */

import { axisNames } from "../../record/axes.ts";
import type { RunRecord } from "../../record/record.ts";
import type { Offer, Wish } from "../../record/wishes.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { say } from "../../words/say.ts";
import { type Change, same, type Which } from "../changes/changes.ts";
import { type Engine, type Made, rewritten, stands } from "./engine.ts";

/** A server's models, any texts, all changes. */
export class Server implements Engine {
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

  row(model: string, which: Which, changes: readonly Change[], row: number): number {
    return rowsOf(this.texts(model, which) ?? [], changes, which)[row] ?? row;
  }

  shifted(model: string, before: readonly Change[], after: readonly Change[], run: RunRecord): readonly Change[] {
    const texts = this.texts(model, "text") ?? [];
    const [rows = [], left = []] = [before, after].map((changes) => rowsOf(texts, changes, "text"));
    if (rows.join() === left.join()) return after;
    return after.flatMap((change) => {
      const there = before.some((each) => same(each, change)) ? sentenceOf(change, run) : null;
      return there === null ? change : (inSentence(change, left.indexOf(rows[there] ?? -1)) ?? []);
    });
  }

  async make(model: string, changes: readonly Change[], stop: AbortSignal): Promise<Made> {
    const base = this.#base(model);
    const texts = changes.filter((change) => change.kind === "text");
    const steps = [...(base.steps ?? []), ...changes.filter((change) => change.kind !== "text")];
    const known = model === "" || this.offers.some(({ name }) => name === model);
    const refused = known ? [] : [say`This server offers no model “${model}”.`];
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
      // Either all texts have a target as tokens, or none: the others keep what their decoder reads without any.
      const plain = targets.length < wish.texts.length ? await this.#first.ask(wish, stop) : null;
      const tokens = async (row: number): Promise<number[]> => {
        const given = targets.find((target) => target.row === row)?.text;
        if (given !== undefined) return given.split(" ").map(Number);
        const ids = (await plain?.numbersAt("decoder_inputs.ids", [row])) ?? [];
        return Array.from(ids).slice(0, plain?.run.words.decoder_inputs[row]?.length);
      };
      wish.target_ids = await Promise.all(wish.texts.map((_, row) => tokens(row)));
      wish.seconds = null;
    }
    return { source: await this.#first.ask(wish, stop), steps, refused };
  }
}

/** The rows of the texts that are left, and that of one more. */
function rowsOf(before: readonly string[], changes: readonly Change[], which: Which): number[] {
  const all = rewritten(before, changes, which, () => true);
  return [...all.flatMap((text, row) => (stands(text) ? [row] : [])), all.length];
}

/** The sentence in which something is changed; null for a text, and for a tensor or a part of one that belongs to none. */
function sentenceOf(change: Change, run: RunRecord): number | null {
  if (change.kind === "text") return null;
  if (change.kind !== "replace" && change.kind !== "patch") return change.sentence ?? 0;
  const formula = run.formulas.find((each) => each.name === change.where);
  return formula !== undefined && axisNames(formula.axes)[0] === "sentence" ? (change.cell?.[0] ?? null) : null;
}

/** The change in another sentence; null for one that is left out. */
function inSentence(change: Change, sentence: number): Change | null {
  if (sentence < 0) return null;
  if (change.kind !== "replace" && change.kind !== "patch")
    return change.kind === "text" ? change : { ...change, sentence };
  return { ...change, cell: [sentence, ...(change.cell ?? []).slice(1)] };
}
