/** What a number means here, in one plain sentence. */

import { nonzero } from "../numbers/arithmetic.ts";
import { counted, evenly, percent, percentBeside, short } from "../numbers/written.ts";
import { heard, say } from "../words/say.ts";
import type { Explanation } from "./interpreter.ts";
import { lastOf, type Names, unmarked } from "./names.ts";

/** A part of a sentence; `of` colours it. */
export type Part = string | { readonly text: string; readonly of: string };

/** One sentence about a computed number. */
export function sentenceOf(found: Explanation, names: Names): Part[] {
  const cell = found.formula.axes === "" ? [] : names.axes(found.name).map((axis) => found.cell[axis] ?? 0);
  const sentence = found.cell["sentence"] ?? 0;
  const label = (axis: string): Part => {
    const known = names.label(found.name, axis, found.cell[axis] ?? 0, sentence);
    return { text: known.text, of: known.hidden ? "hidden" : "strong" };
  };
  const [head, shared] = [found.cell["head"], found.cell["key_value_head"]];
  const inHead =
    head === undefined && shared === undefined
      ? ""
      : shared === undefined
        ? say` of head ${head}`
        : say` of key–value head ${shared}`;
  const number = (text: string): Part => ({ text, of: names.role(found.name) });
  const word =
    "place" in found.cell
      ? placeOf(found, names)
      : label(["token", "query"].find((axis) => axis in found.cell) ?? "key");
  const channel = found.cell["channel"] ?? 0;
  switch (lastOf(found.name)) {
    case "weights": {
      const open = nonzero(found.sum.values);
      if (found.value === 0) return say`Head ${head} takes nothing from ${label("key")} for ${label("query")}.`;
      const share = number(percentBeside(found.value));
      if (open > 1)
        return say`Of what head ${head} passes on to ${label("query")}, ${share} comes from ${label("key")}; an even share is ${evenly(open)}.`;
      return say`Of what head ${head} passes on to ${label("query")}, ${share} comes from ${label("key")}.`;
    }
    case "scores":
      if (head === undefined)
        return say`How well ${label("key")} answers what ${label("query")} looks for: query times key, channel by channel.`;
      return say`How well ${label("key")} answers what ${label("query")} looks for in head ${head}: query times key, channel by channel.`;
    case "scaled":
      return say`The score of ${label("query")} and ${label("key")}, made smaller so that longer vectors do not give larger scores.`;
    case "biased":
      return say`The score of ${label("query")} and ${label("key")}, with what their distance adds.`;
    case "masked":
      if (found.terms.some((term) => term.what.startsWith("forbidden")))
        return say`${label("query")} may not look at ${label("key")}: its score is filled with ${number(short(found.value))}, which the softmax turns into 0.`;
      return say`${label("query")} may look at ${label("key")}: the score stays as it is.`;
    case "may_look":
      if (found.value === 0) return say`${label("key")} may not be looked at: ${reasons(found)}.`;
      return say`${label("key")} may be looked at: ${reasons(found)}.`;
    case "query":
      return say`Channel ${channel}${inHead} of what ${word} looks for: its vector times learned weights.`;
    case "key":
      return say`Channel ${channel}${inHead} of what ${word} offers: its vector times learned weights.`;
    case "value":
      return say`Channel ${channel}${inHead} of what ${word} gives: its vector times learned weights.`;
    case "query_rotated":
    case "key_rotated":
      return say`Channel ${channel}${inHead} of ${word}, turned with its partner channel by its position.`;
    case "mixed": {
      const key = most(found, names);
      if (key === null)
        return say`What ${label("query")} takes from the words in channel ${channel}${inHead}: each value times its weight.`;
      return say`What ${label("query")} takes from the words in channel ${channel}${inHead}: each value times its weight, most from ${key}.`;
    }
    case "merged":
      return say`Channel ${channel} of ${word}: the heads' vectors side by side.`;
    case "residual":
      return say`Channel ${channel} of ${word}: what the layer found is added to what was there.`;
    case "norm":
      return say`Channel ${channel} of ${word}, on the common scale of its vector.`;
    case "word":
      if (found.value === 0 && found.terms[0]?.factors.at(-1)?.name === null)
        return say`${word} is hidden: its vector is all zeros.`;
      return say`Channel ${channel} of the vector of ${word}, looked up in a learned table.`;
    case "position":
      return say`Channel ${channel} of the pattern that tells where ${word} stands.`;
    case "segment":
      return say`Channel ${channel} of the vector of the segment of ${word}.`;
    case "sum":
      return say`Channel ${channel} of ${word} before the first block.`;
    case "hidden":
    case "gate":
      return say`Channel ${channel} of ${word} in the hidden layer: ${counted(found.sum.length, "product")} added up.`;
    case "activated":
      if (found.value === 0) return say`Channel ${channel} of ${word} after the activation function: it was negative.`;
      return say`Channel ${channel} of ${word} after the activation function.`;
    case "output":
      if (found.name.includes("_attention"))
        return say`Channel ${channel} of ${word}, of all heads, back in the width of the model.`;
      return say`Channel ${channel} of ${word}, back in the width of the model.`;
    case "pair":
      return [say`Channel ${channel} of two texts compared: their means, difference and product.`];
    case "logits":
      if ("vocabulary" in found.cell)
        return say`The score of ${label("vocabulary")} at the place of ${placeOf(found, names)}; the softmax makes a probability of it.`;
      return say`The score of the label ${label("label")}.`;
    case "probabilities":
      if ("vocabulary" in found.cell)
        return say`At the place of ${placeOf(found, names)}, the model gives ${label("vocabulary")} a probability of ${number(percent(found.value))}.`;
      if ("label" in found.cell)
        return say`The model gives the label ${label("label")} a probability of ${number(percent(found.value))}.`;
      break;
    case "log_probabilities":
      return say`The logarithm of a probability of ${number(percent(Math.exp(found.value)))}.`;
    case "loss":
      return [say`How wrong the model is: the mean of −log probability of the right words.`];
  }
  const { length, values } = found.sum;
  const largest = values[largestIn(values)] ?? 0;
  const made = length < 2 ? "" : say` The largest of ${counted(length, "term")} is ${short(largest)}.`;
  const title = names.title(found.name);
  return [`${cell.length > 0 ? say`${title} of ${names.cell(found.name, cell)}` : title}.${made}`];
}

/** One sentence about a number that was given or learned. */
export function givenSentence(name: string, cell: readonly number[], value: number, names: Names): Part[] {
  if (name.startsWith("parameters.")) {
    const table = names.axes(name)[0] === "row" && name.includes("embed.word");
    const word = names.run.words.vocabulary[cell[0] ?? 0];
    if (table && word !== undefined)
      return say`A weight, learned in training: channel ${cell[1] ?? 0} of the vector of ${{ text: unmarked(word), of: "strong" }}.`;
    return [say`A weight, learned in training: here the numbers end.`];
  }
  const [token] = [cell.at(-1) ?? 0];
  const side = name.startsWith("decoder") ? "decoder_inputs" : "inputs";
  const { text, hidden } = names.word(side, cell.length > 1 ? (cell[0] ?? 0) : 0, token);
  const word: Part = { text, of: hidden ? "hidden" : "strong" };
  switch (lastOf(name)) {
    case "ids":
      if (hidden && `${side}.masked_words` in names.run.facts)
        return say`${word} is hidden: the model gets ${short(value)} in its place, and the vector of that row is multiplied by 0.`;
      if (hidden)
        return say`${word} is hidden: the model gets ${short(value)}, the number of ${names.run.words.vocabulary[value]}, in its place.`;
      return say`${word} is entry ${short(value)} of the vocabulary: here the numbers end.`;
    case "positions":
      return say`${word} is at position ${short(value)}: given with the text.`;
    case "masked_words":
      return value === 0 ? say`${word} is shown to the model.` : say`${word} is hidden from the model.`;
    case "real":
      return value === 0 ? say`${word} is padding.` : say`${word} is no padding.`;
    default:
      return [say`Given with the text.`];
  }
}

function placeOf(found: Explanation, names: Names): Part {
  const { text } =
    "place" in found.cell ? names.label(found.name, "place", found.cell["place"] ?? 0, 0) : { text: say`this token` };
  return { text, of: "hidden" };
}

/** The place of the largest number, by its size; the first of equal ones. */
function largestIn(values: ArrayLike<number>): number {
  let most = 0;
  for (let place = 1; place < values.length; place++) {
    if (Math.abs(values[place] ?? 0) > Math.abs(values[most] ?? 0)) most = place;
  }
  return most;
}

function most(found: Explanation, names: Names): Part | null {
  const key = Number(found.sum.at(largestIn(found.sum.values))?.what.split(" ")[1]);
  if (!Number.isInteger(key)) return null;
  const label = names.label(found.name.replace(/mixed$/, "weights"), "key", key, found.cell["sentence"] ?? 0);
  return { text: label.text, of: label.hidden ? "hidden" : "strong" };
}

function reasons(found: Explanation): string {
  const against = found.terms.filter((term) => term.value === 0).map((term) => heard(term.what.replace("not ", "")));
  return against.length > 0 ? against.join(", ") : say`nothing forbids it`;
}
