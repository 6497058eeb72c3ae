/** The server of a page as the engine of its changes. */

import type { Offer, Wish } from "../../record/wishes.ts";
import type { HttpSource } from "../../sources/http_source.ts";
import { say } from "../../words/say.ts";
import type { Change, Which } from "../changes/changes.ts";
import { type Engine, type Made, rewritten } from "./engine.ts";

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
