/** Steps II and III of the slides: what attention passes on, and the feed-forward network. */

import { range } from "../../numbers/arithmetic.ts";
import { counted } from "../../numbers/written.ts";
import { joined, listed } from "../../scout/said.ts";
import type { Scout } from "../../scout/scout.ts";
import { held, type Step } from "../step.ts";

const lacks = (s: Scout): boolean => !s.attends;

const value: Step = {
  key: "value",
  lacks,
  find(s) {
    const { query, key } = s.example;
    const { input, out, heads, all } = s.table("value");
    return {
      puts: {
        ...{ input, out, heads, all, counted: counted(out, "number") },
        ...{ key: s.word(key), word: s.word(query), weight: s.number(s.of("weights")) },
      },
      at: s.at("tensor", s.of("value")),
    };
  },
};

const mixing: Step = {
  key: "mixing",
  lacks,
  find(s) {
    const { query, head } = s.example;
    const name = s.of("weights");
    const best = s.favourite(head);
    const first = { key: 0 };
    return {
      puts: {
        ...{ word: s.word(query), head, weight: s.number(name, first), first: s.word(0) },
        ...{ best: s.word(best), most: s.number(name, { key: best }) },
      },
      at: s.scene("mixing", name, first),
      touched: best === 0 ? () => false : held(name, s.cell(name, { key: best })),
    };
  },
};

const filled: Step = {
  key: "filled",
  lacks,
  find(s) {
    const { query, head } = s.example;
    const name = s.of("weights");
    const others = s.all.filter((key) => key !== query && s.value(name, { key }) > 0);
    const own = s.number(name, { key: query });
    return {
      variant: s.isHidden(query) && own.value === 0 && "hidden",
      puts: {
        ...{ word: s.word(query), head, own },
        others: listed(
          others.map((key) => s.word(key)),
          3,
        ),
      },
      at: s.at("block", s.of("mixed")),
    };
  },
};

const merge: Step = {
  key: "merge",
  lacks,
  find(s) {
    const [width = 1, input = 1] = s.shape(s.weight(s.of("output")));
    const { heads } = s;
    return {
      puts: {
        ...{ counted: counted(heads, "head"), heads, out: s.size(s.of("mixed"), "channel") },
        ...{ input, width, all: input * width },
      },
      at: s.at("block", s.of("output")),
    };
  },
};

const residual: Step = {
  key: "residual",
  lacks: (s) => !s.has(s.of("residual")),
  find(s) {
    const name = s.of("residual");
    const { query } = s.example;
    const terms = s.operands(name).map((each) => s.number(each));
    return {
      variant: s.isHidden(query) && s.zeroesWords && "hidden",
      puts: { word: s.word(query), terms: joined(terms, " + "), sum: s.number(name) },
      at: s.at("number", name),
    };
  },
};

const norm: Step = {
  key: "norm",
  lacks,
  find(s) {
    const found = s.ending("norm").find(({ name }) => name.startsWith(s.stack) && !name.includes(".embed."));
    if (found === undefined) {
      const near = s.has(s.of("residual")) ? "residual" : "output";
      return { variant: "none", puts: {}, at: s.at("block", s.of(near)) };
    }
    return {
      puts: { counted: counted(s.shape(found.name).at(-1) ?? 1, "number") },
      at: s.at("number", found.name),
    };
  },
};

const recap: Step = { key: "recap", lacks, find: (s) => ({ puts: {}, at: s.scene("recap", s.of("output")) }) };

const forward: Step = {
  key: "forward",
  lacks: (s) => !s.has(s.after("feed_forward.activated")),
  find(s) {
    const name = s.after("feed_forward.activated");
    const wide = s.size(name, "channel");
    const numbers = range(wide, (channel) => s.value(name, { channel }));
    const silent = numbers.filter((number) => number === 0).length;
    return {
      variant: silent === 0 && "damped",
      puts: {
        ...{ wide, back: s.size(s.after("feed_forward.output"), "channel"), word: s.word(s.example.query) },
        ...{ silent, first: s.number(name) },
      },
      at: s.at("tensor", name, { channel: Math.max(0, numbers.indexOf(0)) }),
    };
  },
};

const stack: Step = {
  key: "stack",
  lacks: (s) => s.blocks < 2 || !s.attends,
  find(s) {
    const name = s.of("weights");
    const last = name.replace(/\.blocks\.\d+\./, `.blocks.${s.blocks - 1}.`);
    const there = s.has(last) ? last : name;
    const { query, key, head } = s.example;
    return {
      puts: {
        ...{ blocks: s.blocks, word: s.word(query), key: s.word(key), head },
        ...{ last: s.share(there), first: s.share(name) },
      },
      at: s.at("block", there),
    };
  },
};

const cross: Step = {
  key: "cross",
  lacks: (s) => s.crossing === "",
  find(s) {
    const name = s.crossing;
    const [rows = 1, columns = 1] = s.shape(name).slice(-2);
    const best = s.favourite(0, 0, name, [...Array(columns).keys()]);
    const given = { query: 0, head: 0, key: best };
    return {
      puts: {
        ...{ rows, columns, head: given.head, best: s.word(best), share: s.share(name, given) },
        word: { text: s.names.word("decoder_inputs", s.sentence, 0).text, of: "strong" },
      },
      at: s.at("tensor", name, given),
    };
  },
};

export const VALUES: readonly Step[] = [
  ...[value, mixing, filled, merge, residual, norm, recap, forward, stack, cross],
];
