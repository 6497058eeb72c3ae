/**
 * The "masked word activity matrix" of the mask-matrix post, in the steps of `glassformer/parts/activity.py`: products of
 * all pairs, −∞ where one may not look, softmax. Each step is a rule of the formula table, worked out by the interpreter.
 */

import { rulesOn } from "../../formulas/at_hand.ts";
import type { Working } from "../../formulas/evaluator.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Rule } from "../../record/record.ts";

export const READINGS = ["stated", "pairs", "code"] as const;
export type Reading = (typeof READINGS)[number];

/** The words' vectors, [sentence, token, channel], and who may look at whom before a cell is changed by hand. */
export interface Asked {
  readonly features: Tensor;
  /** The tensor that the features are a part of, and the sentence. */
  readonly from: string;
  readonly sentence: number;
  readonly words: number;
  readonly hidden: ReadonlySet<number>;
  readonly reading: Reading;
  /** What a word does that may look at nothing. */
  readonly nothing: "itself" | "zero";
  /** A word sees at most so many places away; 0: any. */
  readonly window: number;
  /** So many first words are seen by every word; so many last ones are padding, which none sees. */
  readonly prefix: number;
  readonly padding: number;
  /** Cells changed by hand, as `query-key`. */
  readonly flipped: ReadonlySet<string>;
}

export interface Activity {
  readonly allowed: readonly (readonly boolean[])[];
  /** The words that had nothing to look at. */
  readonly alone: readonly number[];
  readonly pairs: readonly (readonly number[])[];
  readonly masked: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  /** How a pair's product and a weight came about. */
  pair(query: number, key: number): Working;
  weight(query: number, key: number): Working;
}

const SQUARE = "sentence query key";

/** How far each reading lets a word see, as the rule of the mask says it; only the code's sees hidden words. */
const REACH: Readonly<Record<Reading, Readonly<Record<string, Rule[string]>>>> = {
  code: { window: 0 },
  stated: { causal: true },
  pairs: {},
};
const KEYS = "sentence key";

export function activityMatrix(asked: Asked): Activity {
  const { words, hidden } = asked;
  const tensors = new Map<string, Tensor>([[asked.from, asked.features]]);
  const rules = rulesOn(tensors, SQUARE);
  const work = (rule: Rule): ((query: number, key: number) => Working) => {
    const compute = rules(rule);
    return (query, key) => compute({ sentence: asked.sentence, query, key });
  };
  const square = <T>(make: (query: number, key: number) => T): T[][] => {
    return range(words, (query) => range(words, (key) => make(query, key)));
  };
  const keep = (name: string, rows: readonly (readonly number[])[]): void => {
    tensors.set(name, { shape: [1, words, words], data: rows.flat() });
  };
  const row = (name: string, holds: (at: number) => boolean): void => {
    const data = range(words, (at) => Number(holds(at)));
    tensors.set(name, { shape: [1, words], data });
  };
  row("hidden", (at) => hidden.has(at) && asked.reading !== "code");
  row("real", (at) => at < words - asked.padding);
  const reach = REACH[asked.reading];
  const near = asked.window > 0 && !("window" in reach) ? { window: asked.window } : {};
  const within = work({ rule: "may_look", ...reach, ...near });
  const [masked_words, real] = [
    { name: "hidden", axes: KEYS },
    { name: "real", axes: KEYS },
  ];
  const shown = work({ rule: "may_look", masked_words, real });
  const allowed = square((query, key) => {
    const changed = asked.flipped.has(`${query}-${key}`);
    const seen = key < asked.prefix || within(query, key).result !== 0;
    return (seen && shown(query, key).result !== 0) !== changed;
  });
  const alone = allowed.flatMap((row, query) => (row.includes(true) ? [] : [query]));
  if (asked.nothing === "itself") {
    for (const query of alone) (allowed[query] ?? [])[query] = true;
  }
  keep(
    "allowed",
    allowed.map((row) => row.map(Number)),
  );
  const product = { left: { name: asked.from, axes: "sentence query channel" }, over: "channel", scale: 1 };
  const pair = work({ rule: "dot_product", ...product, right: { name: asked.from, axes: "sentence key channel" } });
  const pairs = square((query, key) => pair(query, key).result);
  keep("pairs", pairs);
  const filled = { may_look: { name: "allowed", axes: SQUARE }, fill: "-inf" };
  const fill = work({ rule: "fill_set", x: { name: "pairs", axes: SQUARE }, ...filled });
  const masked = square((query, key) => fill(query, key).result);
  keep("masked", masked);
  const weight = work({ rule: "softmax", x: { name: "masked", axes: SQUARE }, over: "key" });
  const weights = square((query, key) => weight(query, key).result);
  return { allowed, alone, pairs, masked, weights, pair, weight };
}
