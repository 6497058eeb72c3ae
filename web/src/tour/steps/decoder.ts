/** A stack that writes: nobody looks ahead, and one word follows the other. */

import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { counted, power, short } from "../../numbers/written.ts";
import { earlierOf, earlierReads, keysOf, tooLarge } from "../../scenes/recomputed/earlier.ts";
import { joined, type Puts, type Said } from "../../scout/said.ts";
import type { Given, Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Found, Step } from "../step.ts";
import { guessesOf, guessing, inRow, openPlace, PROBABILITIES, shown, sideOf } from "./guesses.ts";
import { blockIn, livelyOf } from "./lively.ts";

const alone = (s: Scout): boolean => s.tokens < 2;

const start = guessing("start", 1, (s) => {
  // The first one follows the mark with which a target begins.
  const [first, second = first] = guessesOf(s);
  return {
    puts: { tokens: counted(s.tokens, "token"), after: second?.word, best: second?.best, share: second?.share },
    at: s.at("model", s.of("weights")),
  };
});

/** Two neighbours, of which the first must not see the second. */
function pair(s: Scout): { readonly query: number; readonly key: number } {
  const key = Math.max(s.seen.at(-1) ?? s.tokens - 1, 1);
  return { query: key - 1, key };
}

/** The scores before any is replaced. */
const before = (s: Scout): string => s.operands(s.of("masked"), "may_look")[0] ?? s.of("scores");

/** A step of the triangle. */
function masking(key: string, find: (s: Scout, given: Given) => Omit<Found, "puts"> & { readonly puts?: Puts }): Step {
  return {
    key,
    lacks: alone,
    find(s) {
      const given = pair(s);
      const may = (query: number): number =>
        s.all.filter((key) => s.value(s.of("may_look"), { query, key }) !== 0).length;
      const { puts, ...found } = find(s, given);
      return {
        ...found,
        puts: {
          ...{ early: s.word(given.query), late: s.word(given.key), first: s.word(0), last: s.word(s.tokens - 1) },
          ...{ before: s.number(before(s), given), fill: s.number(s.of("masked"), given) },
          ...{ nothing: s.number(s.of("weights"), given), head: s.example.head, tokens: s.tokens },
          ...{ all: s.tokens ** 2, left: s.all.reduce((sum, query) => sum + may(query), 0) },
          ...puts,
        },
      };
    },
  };
}

const ahead = masking("ahead", (s, given) => ({ at: s.at("tensor", before(s), given) }));

export const triangle = masking("triangle", (s, given) => ({ at: s.at("tensor", s.of("masked"), given) }));

const looks = masking("looks", (s) => {
  const { name, block, ...given } = livelyOf(s, false);
  const { head } = given;
  return {
    puts: {
      ...{ head, block, word: s.word(given.query), key: s.word(given.key), share: s.share(name, given) },
      own: s.share(name, { head, query: 0, key: 0 }),
    },
    at: s.at("head", name, given),
  };
});

const heads = masking("heads", (s) => {
  const { name, block, head, query, key } = livelyOf(s, false);
  const all = range(Math.min(s.heads, 3), (head): Said[] => {
    const key = s.favourite(head, query, name);
    return [say`head ${head} looks most at `, s.word(key), " (", s.share(name, { head, query, key }), ")"];
  });
  return {
    puts: {
      ...{ block, word: s.word(query), favourites: joined(all, ", ") },
      ...{ heads: counted(s.heads, "head"), blocks: counted(s.blocks, "block") },
    },
    at: s.at("heads", name, { head, query, key }),
  };
});

const far = masking("far", (s) => {
  const { name, block, head } = livelyOf(s, false);
  const given = { head, query: s.tokens - 1, key: 0 };
  const table = s.operands(s.embed("position")).find((each) => each.startsWith("parameters."));
  return {
    variant: table !== undefined && "learned",
    puts: { head, block, share: s.share(name, given), places: table === undefined ? 0 : s.shape(table)[0] },
    at: s.at("tensor", name, given),
  };
});

const together = guessing("together", 1, (s) => {
  const all = guessesOf(s).slice(0, 3);
  const said = all.map(({ word, best, share }): Said[] => [say`after `, word, " ", best, " (", share, ")"]);
  return {
    puts: { guesses: joined(said, ", "), count: s.guesses.filter(({ token }) => token < s.tokens).length },
    at: shown(s, all[0]?.share),
  };
});

export const candidates = guessing("candidates", 1, (s) => {
  const { puts, best } = openPlace(s);
  return { puts, at: shown(s, best) };
});

export const chosen = guessing("chosen", 1, (s) => {
  const { puts, best } = openPlace(s);
  return { puts, at: shown(s, best, "number") };
});

export const append = guessing("append", 2, (s) => {
  const all = guessesOf(s).filter(({ next }) => next !== undefined);
  const other = all.find(({ next }) => next?.best === false);
  const told = other ?? all[0];
  return {
    variant: other !== undefined && "given",
    puts: {
      ...{ word: told?.word, best: told?.best, share: told?.share, next: told?.next?.word },
      ...{
        less: told?.next?.share,
        chain: inRow(all.flatMap(({ next }) => next ?? [])),
        passes: counted(s.tokens, "time"),
      },
    },
    at: { ...shown(s, told?.share), level: "scene", scene: "writing" },
  };
});

const cache: Step = {
  key: "cache",
  lacks: alone,
  reads: (s) => (tooLarge(s) ? [keysOf(s)] : earlierReads(s)),
  find(s) {
    const name = keysOf(s);
    const last = s.tokens - 1;
    const given = { query: last - 1, key: last - 1 };
    const found = tooLarge(s) ? undefined : earlierOf(s);
    const { was, apart = 0, largest = 0, compared = 0 } = found ?? {};
    return {
      variant: found === undefined ? "large" : apart > s.names.run.error_limit * largest && "moved",
      puts: {
        ...{ word: s.word(last - 1), last: s.word(last), number: s.number(name, given), compared, apart: power(apart) },
        ...{ new: s.number(name, { query: last, key: last }), block: blockIn(name) },
        was: was === undefined ? "" : short(at(was, s.cell(name, given))),
      },
      at: found === undefined ? s.at("tensor", name, given) : s.scene("earlier", name, given),
    };
  },
};

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
    at: shown(s, id === undefined ? last?.share : ends, "number"),
  };
});

export const DECODER: readonly Step[] = [
  ...[start, ahead, triangle, looks, heads, far],
  ...[together, candidates, chosen, append, cache, stops],
];
