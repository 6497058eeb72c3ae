/** What a number means here, in one plain sentence. */

import { nonzero } from "../numbers/arithmetic.ts";
import { counted, evenly, percent, percentBeside, short } from "../numbers/written.ts";
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
  const own = head === undefined ? "" : ` of head ${head}`;
  const inHead = shared === undefined ? own : ` of key–value head ${shared}`;
  const number = (text: string): Part => ({ text, of: names.role(found.name) });
  const word = "token" in found.cell ? label("token") : "query" in found.cell ? label("query") : label("key");
  const channel = (found.cell["channel"] ?? 0).toString();
  switch (lastOf(found.name)) {
    case "weights": {
      const open = nonzero(found.sum.values);
      if (found.value === 0)
        return [
          "Head ",
          String(head),
          " takes nothing from ",
          label("key"),
          " for ",
          label("query"),
          ": it is masked.",
        ];
      return [
        `Of what head ${head} passes on to `,
        label("query"),
        ", ",
        number(percentBeside(found.value)),
        " comes from ",
        label("key"),
        open > 1 ? `; an even share is ${evenly(open)}.` : ".",
      ];
    }
    case "scores":
      return [
        "How well ",
        label("key"),
        " answers what ",
        label("query"),
        ` looks for${head === undefined ? "" : ` in head ${head}`}: query times key, channel by channel.`,
      ];
    case "scaled":
      return [
        "The score of ",
        label("query"),
        " and ",
        label("key"),
        ", made smaller so that longer vectors do not give larger scores.",
      ];
    case "biased":
      return ["The score of ", label("query"), " and ", label("key"), ", with what their distance adds."];
    case "masked": {
      const forbidden = found.terms.some((term) => term.what.startsWith("forbidden"));
      if (forbidden)
        return [
          label("query"),
          " may not look at ",
          label("key"),
          ": its score is filled with ",
          number(short(found.value)),
          ", which the softmax turns into 0.",
        ];
      return [label("query"), " may look at ", label("key"), ": the score stays as it is."];
    }
    case "may_look":
      return [label("key"), found.value === 0 ? " may not be looked at: " : " may be looked at: ", reasons(found), "."];
    case "query":
    case "key":
    case "value": {
      const asks = { query: "looks for", key: "offers", value: "gives" }[lastOf(found.name)] ?? "";
      return [`Channel ${channel}${inHead} of what `, word, ` ${asks}: its vector times learned weights.`];
    }
    case "query_rotated":
    case "key_rotated":
      return [`Channel ${channel}${inHead} of `, word, ", turned with its partner channel by its position."];
    case "mixed":
      return [
        "What ",
        label("query"),
        ` takes from all words in channel ${channel}${inHead}: each value times its weight`,
        ...most(found, names),
        ".",
      ];
    case "merged":
      return [`Channel ${channel} of `, word, ": the heads' vectors laid side by side, nothing computed."];
    case "residual":
      return [`Channel ${channel} of `, word, ": what the layer found is added to what was there."];
    case "norm":
      return [`Channel ${channel} of `, word, ": brought to the common scale of its vector."];
    case "word":
      if (found.value === 0 && found.terms[0]?.factors.at(-1)?.name === null)
        return [word, " is hidden: its vector is all zeros."];
      return [`Channel ${channel} of the vector of `, word, ", looked up in a learned table."];
    case "position":
      return [`Channel ${channel} of the pattern that tells where `, word, " stands."];
    case "segment":
      return [`Channel ${channel} of what tells to which text `, word, " belongs."];
    case "sum":
      return [`Channel ${channel} of `, word, " as it enters the first block."];
    case "hidden":
    case "gate":
      return [`Channel ${channel} of `, word, ` in the wider layer: ${counted(found.sum.length, "product")} added up.`];
    case "activated":
      return [
        `Channel ${channel} of `,
        word,
        " after the activation function",
        found.value === 0 ? ": it was negative, so it is silent." : ".",
      ];
    case "output":
      return [
        `Channel ${channel} of `,
        word,
        `${found.name.includes("_attention") ? ", mixed of all heads" : ""}, back in the width of the model.`,
      ];
    case "logits":
      if ("vocabulary" in found.cell)
        return [
          "The score of ",
          label("vocabulary"),
          " at the place of ",
          { text: placeOf(found, names), of: "hidden" },
          "; the softmax makes a probability of it.",
        ];
      return ["The score of the label ", label("label"), "."];
    case "probabilities":
      if ("vocabulary" in found.cell)
        return [
          "At the place of ",
          { text: placeOf(found, names), of: "hidden" },
          ", the model gives ",
          label("vocabulary"),
          " a probability of ",
          number(percent(found.value)),
          ".",
        ];
      if ("label" in found.cell)
        return ["The model gives the label ", label("label"), " a probability of ", number(percent(found.value)), "."];
      break;
    case "log_probabilities":
      return ["The logarithm of a probability of ", number(percent(Math.exp(found.value))), "."];
    case "loss":
      return ["How wrong the model is: the mean of −log probability of the right words."];
  }
  const { length, values } = found.sum;
  const largest = values[largestIn(values)] ?? 0;
  const made = length < 2 ? "" : ` The largest of ${counted(length, "term")} is ${short(largest)}.`;
  return [`${names.title(found.name)}${cell.length > 0 ? ` of ${names.cell(found.name, cell)}` : ""}.${made}`];
}

/** One sentence about a number that was given or learned. */
export function givenSentence(name: string, cell: readonly number[], value: number, names: Names): Part[] {
  if (name.startsWith("parameters.")) {
    const table = names.axes(name)[0] === "row" && name.includes("embed.word");
    const word = names.run.words.vocabulary[cell[0] ?? 0];
    if (table && word !== undefined)
      return [
        "A weight, learned in training: channel ",
        String(cell[1] ?? 0),
        " of the vector of ",
        { text: unmarked(word), of: "strong" },
        ".",
      ];
    return ["A weight, learned in training. It is the same for every text: here the numbers end."];
  }
  const [token] = [cell.at(-1) ?? 0];
  const side = name.startsWith("decoder") ? "decoder_inputs" : "inputs";
  const { text, hidden } = names.word(side, cell.length > 1 ? (cell[0] ?? 0) : 0, token);
  const word: Part = { text, of: hidden ? "hidden" : "strong" };
  switch (lastOf(name)) {
    case "ids":
      return [word, ` is entry ${short(value)} of the vocabulary: here the numbers end, at a word of the text.`];
    case "positions":
      return [word, ` is at position ${short(value)}: given with the text.`];
    case "masked_words":
      return [word, value === 0 ? " is shown to the model." : " is hidden from the model."];
    case "real":
      return [word, value === 0 ? " is padding." : " is a token of the text, no padding."];
    default:
      return ["Given with the text: here the numbers end."];
  }
}

function placeOf(found: Explanation, names: Names): string {
  return "place" in found.cell ? names.label(found.name, "place", found.cell["place"] ?? 0, 0).text : "this token";
}

/** The place of the largest number, by its size; the first of equal ones. */
function largestIn(values: ArrayLike<number>): number {
  let most = 0;
  for (let place = 1; place < values.length; place++) {
    if (Math.abs(values[place] ?? 0) > Math.abs(values[most] ?? 0)) most = place;
  }
  return most;
}

function most(found: Explanation, names: Names): Part[] {
  const key = Number(found.sum.at(largestIn(found.sum.values))?.what.split(" ")[1]);
  if (!Number.isInteger(key)) return [];
  const label = names.label(found.name.replace(/mixed$/, "weights"), "key", key, found.cell["sentence"] ?? 0);
  return [", most from ", { text: label.text, of: label.hidden ? "hidden" : "strong" }];
}

function reasons(found: Explanation): string {
  const against = found.terms.filter((term) => term.value === 0).map((term) => term.what.replace("not ", ""));
  return against.length > 0 ? against.join(", ") : "nothing forbids it";
}
