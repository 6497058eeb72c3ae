/** Rules of order: see `look/formulas/rules/positions.py` and `rotations.py`. */

import type { Cell } from "../../record/axes.ts";
import { type Compute, type Evaluator, type Fields, plain, step, total, type Working } from "../evaluator.ts";

const sinusoid: Compute = (rule, tensors, cell) => {
  const [rate, sine] = wave(rule, step(cell, "channel"));
  const position = tensors.factor(rule.operand("position"), cell);
  const angle = position.value * rate;
  const result = sine ? Math.sin(angle) : Math.cos(angle);
  const term = { what: `${sine ? "sine" : "cosine"} of the angle`, factors: [position, plain(rate)], value: result };
  return { terms: [term], result, quantities: { angle } };
};

/** The rate of a channel's wave, and whether it is a sine. */
function wave(rule: Fields, channel: number): [number, boolean] {
  const width = rule.number("width");
  if (rule.text("layout") === "paper") {
    return [10000 ** -((2 * Math.floor(channel / 2)) / width), channel % 2 === 0];
  }
  const half = Math.floor(width / 2);
  const index = channel % half;
  const along = rule.text("layout") === "halves" ? (2 * index) / width : index / Math.max(half - 1, 1);
  return [10000 ** -along, channel < half];
}

const relativeBias: Compute = (rule, tensors, cell) => {
  const bucket = bucketOf(rule, step(cell, "key") - step(cell, "query"));
  const entry = tensors.factor(rule.operand("table"), { ...cell, bucket });
  return total([{ what: `bucket ${bucket}`, factors: [entry], value: entry.value }]);
};

function bucketOf(rule: Fields, ahead: number): number {
  let buckets = rule.number("buckets");
  let side = 0;
  let distance = Math.max(-ahead, 0);
  if (rule.flag("both_directions")) {
    buckets = Math.floor(buckets / 2);
    side = ahead > 0 ? buckets : 0;
    distance = Math.abs(ahead);
  }
  const near = Math.floor(buckets / 2);
  if (distance < near) return side + distance;
  const widening = rule.number("max_distance") / near;
  const passed = Math.floor((Math.log(distance / near) / Math.log(widening)) * (buckets - near) + 1e-6);
  return side + Math.min(near + passed, buckets - 1);
}

/** The rate of a pair of channels, in a text of so many tokens. */
type Rate = (rule: Fields, pair: number, half: number, tokens: number) => number;

const plainRate: Rate = (rule, pair, half) => rule.number("base") ** -(pair / half);

const dynamic: Rate = (rule, pair, half, tokens) => {
  const beyond = Math.max(tokens / rule.number("original_length") - 1, 0);
  const base = rule.number("base") * (1 + rule.number("factor") * beyond) ** (half / (half - 1));
  return base ** -(pair / half);
};

const llama3: Rate = (rule, pair, half, tokens) => {
  const rate = plainRate(rule, pair, half, tokens);
  const [low, high] = [rule.number("low_frequency_factor"), rule.number("high_frequency_factor")];
  const [length, factor] = [rule.number("original_length"), rule.number("factor")];
  const turn = (2 * Math.PI) / rate;
  if (turn < length / high) return rate;
  if (turn > length / low) return rate / factor;
  const smooth = (length / turn - low) / (high - low);
  return ((1 - smooth) * rate) / factor + smooth * rate;
};

const yarn: Rate = (rule, pair, half, tokens) => {
  const rate = plainRate(rule, pair, half, tokens);
  const bound = (times: number) =>
    (half * Math.log(rule.number("original_length") / (2 * Math.PI * times))) / Math.log(rule.number("base"));
  let [begin, end] = [bound(rule.number("beta_fast")), bound(rule.number("beta_slow"))];
  if (rule.flag("truncate")) [begin, end] = [Math.floor(begin), Math.ceil(end)];
  [begin, end] = [Math.max(begin, 0), Math.min(end, 2 * half - 1)];
  if (begin === end) end += 0.001;
  const along = Math.min(Math.max((pair - begin) / (end - begin), 0), 1);
  return (along * rate) / rule.number("factor") + (1 - along) * rate;
};

function rotate(rule: Fields, tensors: Evaluator, cell: Cell, rate: Rate): Working {
  const [x, position, over] = [rule.operand("x"), rule.operand("position"), rule.text("over")];
  const half = Math.floor(tensors.size(x, over) / 2);
  const channel = step(cell, over);
  const partner = channel < half ? channel + half : channel - half;
  const places = tensors.tensor(position.name);
  const row = places.shape[0] === 1 ? 0 : step(cell, "sentence");
  const tokens = places.shape[1] ?? 0;
  let last = 0;
  for (let token = 0; token < tokens; token++) last = Math.max(last, places.data[row * tokens + token] ?? 0);
  const angle = tensors.value(position, cell) * rate(rule, channel % half, half, 1 + last);
  const size = rule.has("attention_factor") ? rule.number("attention_factor") : 1;
  const [own, other] = [tensors.factor(x, cell), tensors.factor(x, { ...cell, [over]: partner })];
  const cosine = Math.cos(angle) * size;
  const sine = Math.sin(angle) * size * (channel < half ? -1 : 1);
  const { terms, result } = total([
    { what: "own · cosine", factors: [own, plain(cosine)], value: own.value * cosine },
    { what: "partner · sine", factors: [other, plain(sine)], value: other.value * sine },
  ]);
  return { terms, result, quantities: { angle } };
}

const rotating =
  (rate: Rate): Compute =>
  (rule, tensors, cell) =>
    rotate(rule, tensors, cell, rate);

export const POSITIONS: Readonly<Record<string, Compute>> = {
  sinusoid,
  relative_bias: relativeBias,
  rotate: rotating(plainRate),
  rotate_linear: rotating((rule, pair, half, tokens) => plainRate(rule, pair, half, tokens) / rule.number("factor")),
  rotate_dynamic: rotating(dynamic),
  rotate_llama3: rotating(llama3),
  rotate_yarn: rotating(yarn),
};
