/** The server of a page as the engine of its changes. */

import { axisNames } from "../../record/axes.ts";
import type { RunRecord } from "../../record/record.ts";
import type { Offer, Wish } from "../../record/wishes.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { say } from "../../words/say.ts";
import { type Change, same, type Which } from "../changes/changes.ts";
import { type Engine, hasWords, type Made, rewritten } from "./engine.ts";

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
    const which = this.texts(model, "choice") === null ? "text" : "choice"; // a sentence for each candidate
    const texts = this.texts(model, which) ?? [];
    const [rows = [], left = []] = [before, after].map((changes) => rowsOf(texts, changes, which));
    if (rows.join() === left.join()) return after;
    const to = (sentence: number): number => left.indexOf(rows[sentence] ?? -1);
    return after.flatMap((change) => {
      return before.some((each) => same(each, change))
        ? (shiftedTo(change, to, run, left.length < rows.length) ?? [])
        : change;
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
        const side = plain?.run.model.stacks.length === 1 ? "inputs" : "decoder_inputs";
        const ids = (await plain?.numbersAt(`${side}.ids`, [row])) ?? [];
        return Array.from(ids).slice(0, plain?.run.words[side][row]?.length);
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
  return [...all.flatMap((text, row) => (hasWords(text) ? [row] : [])), all.length];
}

/**
 * The change in its sentence, as `to` numbers these now; null where that is left out. Among the places that are scored
 * only fewer sentences leave it known which is which.
 */
function shiftedTo(change: Change, to: (sentence: number) => number, run: RunRecord, fewer: boolean): Change | null {
  if (change.kind === "text") {
    if (change.which !== "target") return change;
    return to(change.row) < 0 ? null : { ...change, row: to(change.row) };
  }
  if (change.kind !== "replace" && change.kind !== "patch") {
    const sentence = to(change.sentence ?? 0);
    return sentence < 0 ? null : { ...change, sentence };
  }
  const [first, ...rest] = change.cell ?? [];
  const formula = run.formulas.find((each) => each.name === change.where);
  const axis = formula === undefined ? "" : axisNames(formula.axes)[0];
  if (first == null || (axis !== "sentence" && axis !== "place")) return change;
  const place = run.places[first];
  const left = run.places.filter(([sentence]) => to(sentence) >= 0);
  const there = axis === "sentence" ? to(first) : fewer && place !== undefined ? left.indexOf(place) : -1;
  return there < 0 ? null : { ...change, cell: [there, ...rest] };
}
