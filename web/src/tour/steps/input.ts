/** From words to the vectors that enter the first block. */

import { range } from "../../numbers/arithmetic.ts";
import { counted } from "../../numbers/written.ts";
import { joined, listed, type Said } from "../../scout/said.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { held, type Step } from "../step.ts";

// A page of a model that hides no words lacks it.
const { twinsOf } = await import("../../scenes/masked.ts");

const holes: Step = {
  key: "holes",
  find(s) {
    const { hidden, example } = s;
    const [first] = hidden;
    const guesses = s.guesses.slice(0, 3).flatMap(({ given }) => s.likeliest(given, 1));
    return {
      variant: first === undefined && "open",
      puts: {
        here: s.sentences > 1 ? counted(s.sentences, "sentence") : counted(s.tokens, "token"),
        words: listed(hidden.map((token) => s.word(token))),
        were: hidden.length === 1 ? say`is` : say`are`,
        guesses: joined(
          guesses.map(({ word }) => word),
          ", ",
        ),
        ...{ word: s.word(example.query), key: s.word(example.key), head: example.head },
        share: s.attends ? s.share(s.of("weights")) : "",
      },
      at: s.at("block", s.embed("word"), { query: first ?? example.query }),
    };
  },
};

const ids: Step = {
  key: "ids",
  lacks: (s) => !(`${s.side}.ids` in s.names.run.facts),
  find(s) {
    const name = `${s.side}.ids`;
    const [first = 0] = s.seen;
    const last = s.seen.at(-1) ?? 0;
    return {
      variant: s.zeroes && s.hidden.length > 0 && "hidden",
      puts: {
        known: s.names.run.words.vocabulary.length || s.size(s.weight(s.embed("word")), "row"),
        ...{ first: s.word(first), id: s.number(name, { token: first }) },
        ...{ last: s.word(last), other: s.number(name, { token: last }) },
      },
      at: s.at("tensor", name, { token: first }),
      touched: held(name, s.cell(name, { token: last })),
    };
  },
};

const embedding: Step = {
  key: "embedding",
  find(s) {
    const name = s.embed("word");
    const [sentences = 1, tokens = 1, width = 1] = s.shape(name);
    const [first = 0] = s.seen;
    return {
      puts: { sentences, tokens, width, all: sentences * tokens * width, first: s.word(first) },
      at: s.at("block", name, { query: first }),
    };
  },
};

const position: Step = {
  key: "position",
  find(s) {
    const name = s.embed("position");
    const formula = s.formula(name);
    if (formula === undefined) {
      const [turned, biased] = [s.has(s.of("query_rotated")), s.has(s.of("biased"))];
      return {
        variant: turned ? "turned" : biased ? "biased" : "none",
        puts: {},
        at: s.at("block", turned ? s.of("query_rotated") : s.embed("word")),
      };
    }
    const { near, far } = distances(s, name);
    const pair = ({ one, two }: Pair): Said[] => listed([s.word(one), s.word(two)]);
    return {
      variant: formula.rule.rule !== "sinusoid" && "learned",
      puts: {
        width: s.size(name, "channel"),
        ...{ near: pair(near), apart: near.distance.toFixed(2) },
        ...{ far: pair(far), farapart: far.distance.toFixed(2) },
      },
      at: s.at("tensor", name, { query: s.seen[0] ?? 0 }),
    };
  },
};

interface Pair {
  readonly one: number;
  readonly two: number;
  readonly distance: number;
}

/** The two places whose position vectors are nearest to each other, and the two farthest apart, of the first words. */
function distances(s: Scout, name: string): { near: Pair; far: Pair } {
  const channels = range(s.size(name, "channel"));
  const places = s.all.slice(0, 48);
  const vectors = places.map((token) => channels.map((channel) => s.value(name, { token, channel })));
  const pairs = places.flatMap((one) => {
    return places.slice(one + 1).map((two): Pair => {
      const distance = Math.hypot(...channels.map((at) => (vectors[one]?.[at] ?? 0) - (vectors[two]?.[at] ?? 0)));
      return { one, two, distance };
    });
  });
  const none: Pair = { one: 0, two: 0, distance: 0 };
  const sorted = pairs.sort((one, two) => one.distance - two.distance);
  return { near: sorted[0] ?? none, far: sorted.at(-1) ?? none };
}

const sum: Step = {
  key: "sum",
  lacks: (s) => !s.has(s.embed("position")),
  reads: (s) => s.operands(s.embed("sum")),
  find(s) {
    const name = s.embed("sum");
    const token = s.seen.at(-1) ?? 0;
    const terms = s.operands(name, "masked_words").map((each) => s.number(each, { token }));
    return {
      puts: { word: s.word(token), terms: joined(terms, " + "), sum: s.number(name, { token }) },
      at: s.at("number", name, { token }),
    };
  },
};

const mask: Step = {
  key: "mask",
  lacks: (s) => !(s.zeroes && s.hidden.length > 0),
  find(s) {
    const name = `${s.side}.masked_words`;
    const { data } = s.tensor(name);
    const [[hidden = 0], [seen = 0]] = [s.hidden, s.seen];
    return {
      puts: {
        ...{ hides: s.number(name, { token: hidden }), hidden: s.word(hidden) },
        ...{ shows: s.number(name, { token: seen }), seen: s.word(seen) },
        ...{ count: Array.from(data).filter((value) => value !== 0).length, all: data.length },
      },
      at: s.at("tensor", name, { token: hidden }),
    };
  },
};

const hidden: Step = {
  key: "hidden",
  lacks: (s) => s.hidden.length === 0,
  find(s) {
    const [one = 0, two] = s.hidden;
    const name = s.embed("sum");
    return {
      variant: !s.zeroes ? "token" : !s.zeroesWords ? "after" : two !== undefined && "pair",
      puts: {
        words: listed(s.hidden.map((token) => s.word(token))),
        token: s.names.run.words[s.side][s.sentence]?.[one] ?? "",
        ...{ one: s.word(one), first: s.number(name, { token: one }) },
        ...{ two: s.word(two ?? one), second: s.number(name, { token: two ?? one }) },
      },
      at: s.at("block", s.embed("word"), { query: one }),
    };
  },
};

const twins: Step = {
  key: "twins",
  lacks: (s) => !s.zeroesWords || s.hidden.length < 2,
  // The run is computed again, in the sizes that it has.
  reads: (s) => [...Object.keys(s.names.run.weights), ...s.names.run.formulas.map(({ name }) => name)],
  find(s) {
    const name = s.embed("sum");
    const [one = 0, two = 0] = s.hidden;
    const [guess] = twinsOf(s.names, s.fetch, s.sentence).guesses;
    return {
      puts: {
        ...{ one: s.word(one), two: s.word(two), guess: guess?.text ?? "" },
        ...{ share: guess?.share.toFixed(3) ?? "", other: guess?.other.toFixed(3) ?? "" },
      },
      at: s.scene("twins", name, { query: one }),
      touched: (now) => now.scene === "after",
      act: s.scene("after", name, { query: one }),
    };
  },
};

export const INPUT: readonly Step[] = [holes, ids, embedding, position, sum, mask, hidden, twins];
