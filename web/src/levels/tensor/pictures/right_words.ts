/** Which word would be right at a place: by the labels of the loss, the hidden word, or the next token of the text. */

import type { Sheet } from "../../../draw/sheet.ts";
import { isOperand } from "../../../formulas/evaluator.ts";
import { lastOf } from "../../../formulas/names.ts";
import type { Context } from "./kind.ts";

/** The tensors that tell what is right, as far as the run has them. */
export function told({ names }: Sheet): string[] {
  return ["labels", "inputs.ids", "decoder_inputs.ids"].filter((name) => name in names.run.facts);
}

/** Whether a tensor holds a number for each word of the vocabulary or each label. */
export function isScored({ name, axes, tensor }: Sheet): boolean {
  const scored = ["probabilities", "log_probabilities", "logits"].includes(lastOf(name));
  return scored && ["vocabulary", "label"].includes(axes.at(-1) ?? "") && (tensor.shape.at(-1) ?? 1) > 1;
}

/** The entry of the vocabulary that is right for a row of `sheet`; null where nobody knows. */
export function rightEntry(context: Context, cell: readonly number[]): number | null {
  const { sheet, store, names } = context;
  const { axes } = sheet;
  if (!axes.includes("vocabulary")) return null;
  const place = axes.indexOf("place");
  const [sentence, token] =
    place >= 0
      ? (names.run.places[cell[place] ?? 0] ?? [0, 0])
      : [cell[axes.indexOf("sentence")] ?? 0, cell[axes.indexOf("token")] ?? 0];
  const labels = names.formulas.get("loss")?.rule["labels"];
  if (isOperand(labels) && place >= 0) return store.fetch(labels.name)?.data[cell[place] ?? 0] ?? null;
  const answer = names.run.words.answers.find(([row, at]) => row === sentence && at === token)?.[2];
  if (answer !== undefined) {
    const found = names.run.words.vocabulary.indexOf(answer);
    return found < 0 ? null : found;
  }
  return nextToken(context, sentence, token);
}

/** A decoder predicts the token that follows. */
function nextToken({ names, sheet, store }: Context, sentence: number, token: number): number | null {
  const side = names.formulas.get(sheet.name)?.tokens ?? "inputs";
  const { stacks } = names.run.model;
  if (!stacks.some((stack) => stack.side === "decoder")) return null;
  if (side === "inputs" && stacks.length > 1) return null;
  const ids = store.fetch(`${side}.ids`);
  const [, length = 0] = ids?.shape ?? [];
  const count = names.run.words[side][sentence]?.length || length; // without the padding of a shorter text
  return token + 1 < count ? (ids?.data[sentence * length + token + 1] ?? null) : null;
}
