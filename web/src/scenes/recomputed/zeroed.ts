/** What the slides' model would compute if hidden words were set to zeros after, not before, the position is added. */

import { type Fetch, isOperand } from "../../formulas/evaluator.ts";
import { lastOf, type Names } from "../../formulas/names.ts";
import { recompute } from "../../formulas/recompute.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { say } from "../../words/say.ts";

export interface Twins {
  /** Every tensor of the run, computed again in this page. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** The likeliest word at each hidden place of the sentence, with its probability there and at the place before. */
  readonly guesses: readonly { readonly text: string; readonly share: number; readonly other: number }[];
}

const known = new WeakMap<Names, Map<number, Twins>>();

/** Needs all weights opened; a model of the slides' size takes a few milliseconds, once for each sentence. */
export function twinsOf(names: Names, fetch: Fetch, sentence: number): Twins {
  let found = known.get(names);
  if (found === undefined) {
    found = new Map();
    known.set(names, found);
  }
  let twins = found.get(sentence);
  if (twins === undefined) {
    const tensors = found.values().next().value?.tensors ?? zeroedAfter(names, fetch);
    twins = { tensors, guesses: guessesIn(tensors, names, sentence) };
    found.set(sentence, twins);
  }
  return twins;
}

/** The run with its words as they are and their sums set to zeros: the mask goes from one formula to the other. */
function zeroedAfter(names: Names, fetch: Fetch): Map<string, Tensor> {
  const { run } = names;
  const word = run.formulas.find(({ name }) => name.endsWith(".embed.word"));
  const mask = word?.rule["masked_words"];
  const formulas = run.formulas.map((formula) => {
    if (formula === word) {
      const { masked_words: _, ...rule } = formula.rule;
      return { ...formula, rule: { ...rule, rule: formula.rule.rule } };
    }
    if (lastOf(formula.name) !== "sum" || mask === undefined) return formula;
    return { ...formula, rule: { ...formula.rule, masked_words: mask } };
  });
  if (!isOperand(mask)) throw new Error(say`this model does not set hidden words to zeros`);
  return recompute({ ...run, formulas }, fetch);
}

function guessesIn(tensors: ReadonlyMap<string, Tensor>, names: Names, sentence: number): Twins["guesses"] {
  const tensor = tensors.get("head.probabilities");
  if (tensor === undefined || tensor.shape.length !== 2) return [];
  const places = names.run.places.flatMap(([row], place) => (row === sentence ? [place] : []));
  return places.map((place, order) => {
    const shares = range(tensor.shape[1] ?? 0, (id) => at(tensor, [place, id]));
    const best = shares.indexOf(Math.max(...shares));
    const beside = places[order === 0 ? 1 : order - 1] ?? place;
    return {
      text: names.run.words.vocabulary[best] ?? String(best),
      share: shares[best] ?? 0,
      other: at(tensor, [beside, best]),
    };
  });
}
