/** Step I of the slides: queries and keys, scores, the mask, the softmax. */

import { explainCell } from "../../formulas/interpreter.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted, short } from "../../numbers/written.ts";
import { joined, listed, type Said } from "../../scout/said.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { held, type Step } from "../step.ts";

const lacks = (s: Scout): boolean => !s.attends;

const goal: Step = {
  key: "goal",
  lacks,
  find(s) {
    const { query, head } = s.example;
    const favourites = range(Math.min(s.heads, 3), (each): Said[] => {
      const key = s.favourite(each);
      return [say`head ${each} looks most at `, s.word(key), " (", s.share(s.of("weights"), { head: each, key }), ")"];
    });
    return {
      variant: s.isHidden(query) && s.forbidden.kind === "hidden" && "hidden",
      puts: {
        ...{ heads: counted(s.heads, "head"), word: s.word(query) },
        favourites: joined(favourites, ", "),
      },
      at: s.at("block", s.of("weights"), { head }),
    };
  },
};

const search: Step = {
  key: "search",
  lacks,
  find: (s) => ({
    puts: { word: s.word(s.example.query), key: s.word(s.example.key) },
    at: s.at("block", s.of("query")),
  }),
};

const tables: Step = {
  key: "tables",
  lacks,
  find(s) {
    const { input, out, heads, all } = s.table("query");
    const [keys, values] = [s.table("key").all, s.table("value").all];
    return {
      puts: { input, out, heads, all, keys, values, together: all + keys + values, counted: counted(heads, "head") },
      at: s.at("tensor", s.weight(s.of("query"))),
    };
  },
};

const shared: Step = {
  key: "shared",
  lacks,
  find: (s) => ({
    puts: { words: counted(s.sentences * s.tokens, "word"), all: s.table("query").all },
    at: s.scene("shared", s.of("query")),
  }),
};

const query: Step = {
  key: "query",
  lacks,
  reads: (s) => s.operands(s.of("query")),
  find(s) {
    const name = s.of("query");
    const formula = s.formula(name);
    const cell = s.cell(name);
    const named = Object.fromEntries(s.names.axes(name).map((axis, place) => [axis, cell[place] ?? 0]));
    const terms = formula === undefined ? [] : explainCell(formula, named, s.fetch, s.names.run).terms;
    const bias = terms.at(-1)?.what === "bias";
    const sizes = terms.map((term) => Math.abs(term.value));
    const most = sizes.indexOf(Math.max(...sizes));
    const factors = (terms[most]?.factors ?? []).flatMap((factor): Said[] => {
      if (factor.name === null) return [];
      const { name: from, index, value } = factor;
      return [{ text: short(value), of: s.names.role(from), name: from, cell: index, value }];
    });
    return {
      puts: {
        ...{
          word: s.word(s.example.query),
          head: s.example.head,
          terms: bias ? say`${counted(terms.length - 1, "term")} and a bias` : counted(terms.length, "term"),
        },
        ...{
          sum: s.number(name),
          most: terms[most]?.what ?? "",
          factors: joined(factors, " × "),
          product: short(terms[most]?.value ?? 0),
        },
      },
      at: s.at("number", name),
    };
  },
};

const key: Step = {
  key: "key",
  lacks,
  find(s) {
    const token = s.example.key;
    return {
      puts: {
        ...{ size: counted(s.size(s.of("key"), "channel"), "number"), word: s.word(token) },
        ...{ query: s.number(s.of("query"), { query: token }), key: s.number(s.of("key")) },
      },
      at: s.at("tensor", s.of("key")),
    };
  },
};

const rotary: Step = {
  key: "rotary",
  lacks: (s) => !s.has(s.of("query_rotated")),
  find: (s) => ({
    puts: {
      ...{ word: s.word(s.example.query), before: s.number(s.of("query")), after: s.number(s.of("query_rotated")) },
    },
    at: s.at("number", s.of("query_rotated")),
  }),
};

const cells: Step = {
  key: "cells",
  lacks,
  find(s) {
    const name = s.of("scores");
    const value = (each: number): number => s.value(name, { key: each });
    const best = s.all.reduce((most, each) => (value(each) > value(most) ? each : most), 0);
    const first = { key: 0 };
    return {
      puts: {
        ...{ key: s.word(0), word: s.word(s.example.query), score: s.number(name, first), head: s.example.head },
        ...{ best: s.word(best), highest: s.number(name, { key: best }) },
      },
      at: s.scene("cells", name, first),
      touched: best === 0 ? () => false : held(name, s.cell(name, { key: best })),
    };
  },
};

const scores: Step = {
  key: "scores",
  lacks,
  find(s) {
    const name = s.of("scores");
    const { query: one, key: two, head } = s.example;
    return {
      puts: {
        ...{ rows: s.size(name, "query"), columns: s.size(name, "key"), head, word: s.word(one), key: s.word(two) },
        ...{ there: s.number(name), back: s.number(name, { query: two, key: one }) },
      },
      at: s.at("tensor", name),
    };
  },
};

const product: Step = {
  key: "product",
  lacks,
  find(s) {
    const shape = s.shape(s.of("scores"));
    const [sentences = 1, heads = 1] = shape;
    return {
      puts: {
        ...{ sentences: counted(sentences, "sentence"), heads: counted(heads, "head") },
        tables: counted(sentences * heads, "score table"),
        ...{ shape: shape.join(" × "), all: shape.reduce((all, size) => all * size, 1) },
      },
      at: s.scene("product", s.of("scores")),
    };
  },
};

const scaled: Step = {
  key: "scaled",
  lacks,
  find(s) {
    const size = s.size(s.of("query"), "channel");
    const there = s.has(s.of("scaled"));
    return {
      variant: !there && "none",
      puts: {
        ...{ size, root: short(Math.sqrt(size), 2), products: counted(size, "product") },
        ...{ before: s.number(s.of("scores")), after: there ? s.number(s.of("scaled")) : "" },
      },
      at: there ? s.at("number", s.of("scaled")) : s.at("block", s.of("scores")),
    };
  },
};

const masking: Step = {
  key: "masking",
  lacks,
  find(s) {
    const name = s.of("masked");
    const [from = s.of("scores")] = s.operands(name, "may_look");
    const { query: looks, head } = s.example;
    const { kind, query, key: forbidden, count } = s.forbidden;
    const given = { query, key: forbidden };
    const all = kind === "some" ? s.tokens ** 2 : s.tokens;
    return {
      variant: kind !== "hidden" && kind,
      puts: {
        ...{ words: listed(s.hidden.map((each) => s.word(each))), word: s.word(looks), hidden: s.word(forbidden) },
        ...{
          before: s.number(from, given),
          fill: s.number(name, given),
          first: s.word(query),
          last: s.word(forbidden),
        },
        ...{ count, all, tokens: counted(s.tokens, "token"), head, share: s.share(s.of("weights"), { key: looks }) },
      },
      at: kind === "nothing" ? s.at("tensor", s.of("may_look")) : s.at("tensor", name, given),
    };
  },
};

const softmax: Step = {
  key: "softmax",
  lacks,
  find(s) {
    const name = s.of("weights");
    const hidden = s.forbidden.kind === "hidden" ? s.hidden[0] : undefined;
    const total = s.all.reduce((all, each) => all + s.value(name, { key: each }), 0);
    return {
      variant: hidden !== undefined && "hidden",
      puts: {
        ...{ word: s.word(s.example.query), key: s.word(s.example.key), share: s.number(name), total: short(total) },
        ...{ hidden: s.word(hidden ?? 0), nothing: s.number(name, { key: hidden ?? 0 }) },
      },
      at: s.at("number", name),
    };
  },
};

export const SCORES: readonly Step[] = [
  ...[goal, search, tables, shared, query, key, rotary],
  ...[cells, scores, product, scaled, masking, softmax],
];
