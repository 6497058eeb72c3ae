/** The mask-matrix post on the run's own words: products of all pairs, what is forbidden, and what the softmax leaves. */

import { type Activity, type Asked, activityMatrix } from "../../levels/mask/activity.ts";
import { askedOf, vectorsOf } from "../../levels/mask/asked.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import type { Said } from "../../scout/said.ts";
import type { Scout } from "../../scout/scout.ts";
import type { Found, Step } from "../step.ts";

const from = (s: Scout): string => vectorsOf(s.names)[0] ?? "";

interface Told {
  readonly asked: Asked;
  readonly found: Activity;
  /** The word in hand: the first that is hidden, else the second. */
  readonly row: number;
  word(token: number): Said;
}

/** A step of the workshop, in the reading and with the words hidden that its options ask for. */
function matrix(key: string, options: readonly string[], find: (told: Told) => Omit<Found, "at"> & { square: number }) {
  const step: Step = {
    key,
    lacks: (s) => from(s) === "",
    find(s) {
      const name = from(s);
      const asked = askedOf(options, s.names, name, s.tensor(name), s.sentence);
      const found = activityMatrix(asked);
      const row = asked.hidden.size > 0 ? Math.min(...asked.hidden) : Math.min(1, asked.words - 1);
      const side = s.names.side(name, "token") ?? "inputs";
      const word = (token: number): Said => {
        const of = asked.hidden.has(token) ? "hidden" : "strong";
        return { text: s.names.word(side, asked.sentence, token).text, of };
      };
      const { square, puts, ...more } = find({ asked, found, row, word });
      const at = { ...s.at("mask", name, { token: row }), options, at: [square, row, row] };
      return { ...more, puts: { word: word(row), words: counted(asked.words, "word"), ...puts }, at };
    },
  };
  return step;
}

const allowed = ({ found, asked }: Told) => ({
  left: found.allowed.flat().filter((may) => may).length,
  all: asked.words ** 2,
});

/** How a row is shared out. */
const share = ({ found }: Told, query: number, key: number): string => percent(found.weights[query]?.[key] ?? 0);

const vectors: Step = {
  key: "vectors",
  lacks: (s) => from(s) === "",
  find(s) {
    const name = from(s);
    const [, tokens = 0, width = 0] = s.shape(name);
    return { puts: { tokens, width, number: s.number(name, { token: 0 }) }, at: s.at("tensor", name, { token: 0 }) };
  },
};

const pairs = matrix("pairs", ["code"], ({ found, row, word }) => ({
  square: 0,
  puts: { other: word(0), product: short(found.pairs[row]?.[0] ?? 0), own: short(found.pairs[row]?.[row] ?? 0) },
}));

const identity = matrix("identity", ["code"], (told) => ({
  square: 1,
  variant: told.asked.hidden.size > 0 && "hidden",
  puts: { ...allowed(told), share: share(told, told.row, told.row) },
}));

const stated = matrix("stated", ["stated"], (told) => {
  const last = told.asked.words - 1;
  const { weights } = told.found;
  const total = (weights[last] ?? []).reduce((all, each) => all + each, 0);
  return { square: 1, puts: { ...allowed(told), last: told.word(last), total: short(total) } };
});

const alone = matrix("alone", ["stated", "hide.0"], (told) => ({
  square: 1,
  puts: { first: told.word(0), share: share(told, 0, 0) },
}));

const both = matrix("both", ["pairs"], (told) => ({
  square: 1,
  puts: { ...allowed(told), last: told.word(told.asked.words - 1), share: share(told, 0, told.asked.words - 1) },
}));

const model: Step = {
  key: "model",
  lacks: (s) => !s.attends,
  find(s) {
    const { kind, count } = s.forbidden;
    const all = s.tokens ** 2;
    const ahead = (s.tokens * (s.tokens - 1)) / 2;
    const none = kind === "ahead" ? ahead : kind === "hidden" ? s.tokens * s.hidden.length : count;
    return { puts: { all, left: all - none }, at: s.at("tensor", s.of("may_look")) };
  },
};

export const POST: readonly Step[] = [vectors, pairs, identity, stated, alone, both, model];
