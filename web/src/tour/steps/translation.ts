/** Two stacks: one reads the source, the other writes the target and looks at what was read. */

import { range } from "../../numbers/arithmetic.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import { joined, type Puts, type Said } from "../../scout/said.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Step } from "../step.ts";
import { end } from "./answer.ts";
import { append, candidates, chosen, triangle } from "./decoder.ts";
import { guessesOf, guessing, inRow, openPlace, shown, sideOf } from "./guesses.ts";
import { blockIn, livelyOf } from "./lively.ts";

const source = (s: Scout): Scout => s.beside("encoder");

/** A tensor of the first attention from the decoder to the encoder. */
const cross = (s: Scout, last: string): string => s.crossing.replace(/weights$/, last);

/** What the encoder hands to the decoder. */
const memory = (s: Scout): string => s.operands(cross(s, "key"))[0] ?? "";

/** The word of the source, or of the target, that a step is about: the last that is one. */
const lastWord = (s: Scout): number => s.seen.at(-1) ?? 0;

const stacks = guessing("stacks", 1, (s) => {
  const e = source(s);
  const written = guessesOf(s).map(({ best }) => best);
  return {
    puts: {
      ...{ source: counted(e.tokens, "token"), written: joined(written, " ") },
      ...{ reads: counted(e.blocks, "block"), writes: counted(s.blocks, "block") },
      weights: counted(s.names.run.model.parameters, "weight"),
    },
    at: s.scene("stages", e.embed("word"), { query: lastWord(e) }),
  };
});

const table = (s: Scout, name: string, role: string): string =>
  (s.formula(name)?.rule[role] as { readonly name: string } | undefined)?.name ?? "";

const words: Step = {
  key: "words",
  lacks: (s) => table(s, "encoder.embed.word", "table") === "",
  find(s) {
    const e = source(s);
    const name = e.embed("word");
    const own = table(s, name, "table");
    const query = lastWord(e);
    const [rows = 0, width = 0] = s.shape(own);
    const scale = s.formula(name)?.rule["scale"];
    const others = [table(s, s.embed("word"), "table"), table(s, "head.logits", "right")];
    return {
      variant: others.some((each) => each !== own) && "apart",
      puts: {
        ...{ word: e.word(query), rows, width, number: e.number(name, { query }) },
        scale: short(typeof scale === "number" ? scale : 1),
        same: others.filter((each) => each === own).length,
      },
      at: { ...e.scene("look-up", name, { query }), at: [query] },
    };
  },
};

const reads: Step = {
  key: "reads",
  lacks: (s) => source(s).tokens < 2,
  find(s) {
    const e = source(s);
    const { name, block, ...given } = livelyOf(e, true);
    return {
      puts: {
        ...{ tokens: counted(e.tokens, "token"), all: e.tokens ** 2, head: given.head, block },
        ...{ word: e.word(given.query), later: e.word(given.key), share: e.share(name, given) },
      },
      at: e.at("head", name, given),
    };
  },
};

const handed: Step = {
  key: "handed",
  find(s) {
    const e = source(s);
    const width = s.shape(memory(s)).at(-1);
    const query = lastWord(e);
    const readers = s.names.readers(memory(s)).filter(([{ name }]) => name.endsWith(".cross_attention.key"));
    return {
      puts: {
        ...{ tokens: e.tokens, width, word: e.word(query), number: e.number(memory(s), { query }) },
        ...{ readers: readers.length, blocks: s.blocks },
      },
      at: e.at("tensor", memory(s), { query }),
    };
  },
};

const shifted = guessing("shifted", 1, (s) => {
  const all = guessesOf(s);
  const last = all.at(-1);
  const pairs = all.flatMap(({ word, next }): Said[][] => (next === undefined ? [] : [[word, " → ", next.word]]));
  return {
    puts: {
      start: s.word(0),
      pairs: joined(pairs.slice(0, 4), ", "),
      last: last?.word,
      best: last?.best,
      share: last?.share,
    },
    at: s.at("block", s.embed("word"), { query: 0 }),
  };
});

const asks: Step = {
  key: "asks",
  find(s) {
    const name = cross(s, "query");
    const given = { query: lastWord(s), head: 0 };
    return {
      puts: {
        ...{ word: s.word(given.query), number: s.number(name, given) },
        ...{ rows: s.tokens, size: s.size(name, "channel") },
      },
      at: s.at("number", name, given),
    };
  },
};

const answers: Step = {
  key: "answers",
  find(s) {
    const e = source(s);
    const given = { key: lastWord(e), head: 0 };
    return {
      variant: s.tokens === e.tokens && "equal",
      puts: {
        ...{
          word: e.word(given.key),
          key: s.number(cross(s, "key"), given),
          value: s.number(cross(s, "value"), given),
        },
        ...{ rows: s.tokens, columns: e.tokens },
      },
      at: s.at("number", cross(s, "key"), given),
    };
  },
};

const crossings = (s: Scout): string[] =>
  s.ending("weights").flatMap(({ name }) => (name.includes(".cross_attention.") ? [name] : []));

interface Aligned {
  readonly name: string;
  readonly head: number;
  /** The source word that each target word looks at most. */
  readonly keys: readonly number[];
}

/**
 * The head that looks most, where a word is to be written, at the word of the source at which the heads of the last block
 * look on average, at the start token already: that one says nothing of the text, so who looks at a word there looks for
 * what is to be written. Others look at the end, or at the word that was read. Before a full stop nothing is counted: it
 * is no word of the source that is looked for.
 */
function aligned(s: Scout): Aligned {
  const e = source(s);
  const side = sideOf(s);
  const next = (query: number): string => s.names.word(side, s.sentence, query + 1).text;
  const words = s.all.filter((query) => s.all.includes(query + 1) && /\p{L}/u.test(next(query)));
  const writing = words.length > 0 ? words : s.all;
  let [best, most]: [Aligned, number] = [{ name: s.crossing, head: 0, keys: [] }, -1];
  const last = crossings(s).at(-1) ?? s.crossing;
  const all = (query: number, key: number): number =>
    range(s.size(last, "head"), (head) => s.value(last, { head, query, key })).reduce((a, b) => a + b, 0);
  const sought = writing.map((query) =>
    e.all.reduce((top, key) => (all(query, key) > all(query, top) ? key : top), e.all[0] ?? 0),
  );
  for (const name of crossings(s)) {
    for (let head = 0; head < s.size(name, "head"); head++) {
      const keys = s.all.map((query) => s.favourite(head, query, name, e.all));
      const shares = writing.map((query, place) => {
        const key = sought[place] ?? 0;
        return e.seen.includes(key) ? s.value(name, { head, query, key }) : 0;
      });
      const sum = (shares[0] ?? 0) * shares.reduce((all, share) => all + share, 0);
      if (sum > most) [best, most] = [{ name, head, keys }, sum];
    }
  }
  return best;
}

const matrix: Step = {
  key: "matrix",
  find(s) {
    const e = source(s);
    const { name, head, keys } = aligned(s);
    const at = (query: number): { head: number; query: number; key: number } => ({
      head,
      query,
      key: keys[query] ?? 0,
    });
    const given = s.seen.map(at).reduce(
      (top, each) => {
        return e.seen.includes(each.key) && s.value(name, each) > s.value(name, top) ? each : top;
      },
      at(lastWord(s)),
    );
    const total = e.all.reduce((sum, key) => sum + s.value(name, { ...given, key }), 0);
    return {
      puts: {
        ...{ rows: s.tokens, columns: e.tokens, head, block: blockIn(name), total: short(total) },
        ...{ word: s.word(given.query), key: e.word(given.key), share: s.share(name, given) },
      },
      at: s.at("tensor", name, given),
    };
  },
};

const looks = guessing("looks", 1, (s) => {
  const { name, head, keys } = aligned(s);
  const all = guessesOf(s).slice(0, 4);
  const given = all.map(({ token }) => ({ head, query: token, key: keys[token] ?? 0 }));
  const each = all.map(({ best }, place): Said[] => {
    const { key = 0, ...more } = given[place] ?? {};
    return [say`for `, best, say` at `, source(s).word(key), " (", s.share(name, { ...more, key }), ")"];
  });
  return {
    puts: {
      ...{ looks: joined(each, ", "), head, block: blockIn(name), all: s.blocks * s.size(name, "head") },
      ...{ word: all[0]?.word, best: all[0]?.best },
    },
    at: s.at("head", name, given[0]),
  };
});

const given: Step = {
  key: "given",
  lacks: (s) => !s.has(cross(s, "residual")),
  find(s) {
    const name = cross(s, "residual");
    const query = lastWord(s);
    const terms = s.operands(name).map((each) => s.number(each, { query }));
    return {
      puts: { word: s.word(query), terms: joined(terms, " + "), sum: s.number(name, { query }) },
      at: s.at("number", name, { query }),
    };
  },
};

/** How likely the words of the target are. */
function weighed(s: Scout): Puts {
  const all = guessesOf(s).flatMap(({ next }) => (next === undefined ? [] : [next]));
  const sum = all.reduce((sum, { share }) => sum + Math.log(share.value), 0);
  const [first] = all;
  return {
    ...{ words: inRow(all), product: percent(Math.exp(sum)), sum: short(sum), count: all.length },
    ...{ each: short(sum / all.length), loss: short(-sum / all.length) },
    ...{ right: first?.word, sure: first?.share, own: short(-Math.log(first?.share.value ?? 1)) },
  };
}

const beam = guessing("beam", 2, (s) => {
  const { puts, next } = openPlace(s);
  return { puts: { ...puts, ...weighed(s) }, at: shown(s, next) };
});

const LOG = "head.log_probabilities";

const loss = guessing("loss", 2, (s) => {
  const at = shown(s, guessesOf(s)[0]?.next?.share, "number");
  return { puts: weighed(s), at: s.has(LOG) ? { ...at, tensor: LOG } : at };
});

export const TRANSLATION: readonly Step[] = [
  ...[stacks, words, reads, handed, shifted, triangle, asks, answers, matrix, looks, given],
  ...[candidates, chosen, append, beam, loss, end],
];
