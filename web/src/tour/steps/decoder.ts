/** A stack that writes: nobody looks ahead, and one word follows the other. */

import { counted, percent, power, short } from "../../run/numbers.ts";
import { at } from "../../run/safetensors.ts";
import { earlierOf, earlierReads, keysOf, tooLarge } from "../../scenes/earlier.ts";
import { joined, type Said } from "../../scenes/said.ts";
import type { Scout } from "../../scenes/scout.ts";
import type { Step } from "../step.ts";
import { cellOf, guessesOf, guessing, openPlace, PROBABILITIES, sideOf } from "./guesses.ts";
import { livelyOf, selfAttentions } from "./lively.ts";

/** Two neighbours, of which the first must not see the second. */
function pair(s: Scout): { readonly query: number; readonly key: number } {
  const key = Math.max(s.seen.at(-1) ?? s.tokens - 1, 1);
  return { query: key - 1, key };
}

const alone = (s: Scout): boolean => s.tokens < 2;

const start = guessing("start", 1, (s) => {
  // The first one stands behind the mark with which a target begins.
  const [first, second = first] = guessesOf(s);
  return {
    puts: { tokens: counted(s.tokens, "token"), after: second?.word, best: second?.best, share: second?.share },
    at: s.at("model", s.of("weights")),
  };
});

/** The scores before any is replaced. */
const before = (s: Scout): string => s.operands(s.of("masked"), "may_look")[0] ?? s.of("scores");

const ahead: Step = {
  key: "ahead",
  lacks: alone,
  reads: (s) => [before(s)],
  find(s) {
    const given = pair(s);
    return {
      puts: {
        ...{ rows: s.tokens, all: s.tokens ** 2, head: s.example.head },
        ...{ early: s.word(given.query), late: s.word(given.key), score: s.number(before(s), given) },
      },
      at: s.at("tensor", before(s), given),
    };
  },
};

/** How many pairs of words may look, in the sentence. */
function allowed(s: Scout): number {
  return s.all.flatMap((query) => s.all.filter((key) => s.value(s.of("may_look"), { query, key }) !== 0)).length;
}

export const triangle: Step = {
  key: "triangle",
  lacks: alone,
  reads: (s) => [before(s), s.of("masked"), s.of("may_look")],
  find(s) {
    const given = pair(s);
    return {
      puts: {
        ...{ early: s.word(given.query), late: s.word(given.key), first: s.word(0) },
        ...{ before: s.number(before(s), given), fill: s.number(s.of("masked"), given) },
        ...{ nothing: s.number(s.of("weights"), given), all: s.tokens ** 2, left: allowed(s) },
      },
      at: s.at("tensor", s.of("masked"), given),
    };
  },
};

const looks: Step = {
  key: "looks",
  reads: selfAttentions,
  find(s) {
    const { name, block, ...given } = livelyOf(s, false);
    const [share, own] = [s.share(name, given), s.share(name, { ...given, query: 0, key: 0 })];
    return {
      puts: {
        head: given.head,
        block,
        word: s.word(given.query),
        key: s.word(given.key),
        share,
        first: s.word(0),
        own,
      },
      at: s.at("head", name, given),
    };
  },
};

const heads: Step = {
  key: "heads",
  lacks: (s) => s.heads * s.blocks < 2,
  reads: selfAttentions,
  find(s) {
    const { name, block, query, ...given } = livelyOf(s, false);
    const all = Array.from({ length: Math.min(s.heads, 3) }, (_, head): Said[] => {
      const share = (key: number): number => s.value(name, { head, query, key });
      const key = s.all.reduce((best, each) => (share(each) > share(best) ? each : best), 0);
      return [`head ${head} at `, s.word(key), " (", s.share(name, { head, query, key }), ")"];
    });
    return {
      puts: {
        word: s.word(query),
        block,
        favourites: joined(all, ", "),
        heads: s.heads,
        blocks: counted(s.blocks, "block"),
      },
      at: s.at("heads", name, { query, ...given }),
    };
  },
};

const far: Step = {
  key: "far",
  reads: (s) => [s.of("may_look"), ...selfAttentions(s)],
  find(s) {
    const table = s.formula(s.embed("position"))?.rule["table"] as { readonly name: string } | undefined;
    const { name, block, head } = livelyOf(s, false);
    const given = { head, query: s.tokens - 1, key: 0 };
    return {
      variant: table !== undefined && "learned",
      puts: {
        ...{ tokens: s.tokens, left: allowed(s), last: s.word(given.query), first: s.word(0), block, head },
        ...{ share: s.share(name, given), places: table === undefined ? 0 : (s.shape(table.name)[0] ?? 0) },
      },
      at: s.at("tensor", name, given),
    };
  },
};

const together = guessing("together", 1, (s) => {
  const all = guessesOf(s).slice(0, 3);
  const said = all.map(({ word, best, share }): Said[] => ["after ", word, " ", best, " (", share, ")"]);
  return { puts: { guesses: joined(said, ", "), count: s.guesses.length }, at: cellOf(s, all[0]?.share) };
});

export const candidates = guessing("candidates", 1, (s) => {
  const given = openPlace(s);
  const best = s.likeliest(given, 3);
  const rest = 1 - best.reduce((sum, { share }) => sum + share.value, 0);
  return {
    puts: {
      ...{ word: wordAt(s, given), size: s.shape(PROBABILITIES).at(-1) ?? 1 },
      candidates: joined(
        best.map(({ word, share }): Said[] => [word, " ", share]),
        ", ",
      ),
      rest: percent(Math.max(rest, 0)),
    },
    at: cellOf(s, best[0]?.share),
  };
});

/** The last word that is read at a place. */
export function wordAt(s: Scout, given: ReturnType<typeof openPlace>): Said {
  return s.guesses.find((each) => JSON.stringify(each.given) === JSON.stringify(given))?.word ?? "";
}

export const chosen = guessing("chosen", 1, (s) => {
  const given = openPlace(s);
  const [best, next] = s.likeliest(given, 2);
  return {
    puts: {
      ...{ word: wordAt(s, given), best: best?.word, share: best?.share, next: next?.word, less: next?.share },
      ratio: short((best?.share.value ?? 0) / (next?.share.value ?? 1), 1),
    },
    at: cellOf(s, best?.share, "number"),
  };
});

export const append = guessing("append", 2, (s) => {
  const all = guessesOf(s).filter(({ next }) => next !== undefined);
  const other = all.find(({ next }) => next?.best === false);
  const told = other ?? all[0];
  const chain = all.slice(0, 6).map(({ next }) => next?.word ?? "");
  return {
    variant: other !== undefined && "given",
    puts: {
      ...{ word: told?.word, best: told?.best, share: told?.share, next: told?.next?.word },
      ...{ less: told?.next?.share, chain: joined(chain, " "), passes: counted(s.tokens, "time") },
    },
    at: s.at("block", s.embed("word"), { query: (told?.token ?? 0) + 1 }),
  };
});

const cache: Step = {
  key: "cache",
  lacks: alone,
  reads: (s) => (tooLarge(s) ? [keysOf(s)] : earlierReads(s)),
  find(s) {
    const name = keysOf(s);
    const last = s.tokens - 1;
    const [given, large] = [{ query: last - 1, key: last - 1 }, tooLarge(s)];
    const { was, apart, largest, compared } = large ? NOTHING : earlierOf(s);
    return {
      variant: large ? "large" : apart > s.names.run.error_limit * largest && "moved",
      puts: {
        ...{ word: s.word(last - 1), last: s.word(last), number: s.number(name, given), compared, apart: power(apart) },
        ...{ new: s.number(name, { query: last, key: last }), block: Number(name.split(".")[2]) },
        was: was === undefined ? "" : short(at(was, s.cell(name, given))),
      },
      at: large ? s.at("tensor", name, given) : s.scene("earlier", name, given),
    };
  },
};
const NOTHING = { was: undefined, apart: 0, largest: 0, compared: 0 };

const stops = guessing("stops", 1, (s) => {
  const id = s.names.run.words.closing?.[sideOf(s)];
  const last = guessesOf(s).at(-1);
  const ends = s.share(PROBABILITIES, { ...last?.given, vocabulary: id ?? 0 });
  return {
    variant: id === undefined && "unknown",
    puts: {
      closing: s.names.label(PROBABILITIES, "vocabulary", id ?? 0, s.sentence).text,
      ...{ word: last?.word, ends, best: last?.best, share: last?.share },
    },
    at: cellOf(s, id === undefined ? last?.share : ends, "number"),
  };
});

export const DECODER: readonly Step[] = [
  ...[start, ahead, triangle, looks, heads, far],
  ...[together, candidates, chosen, append, cache, stops],
];
