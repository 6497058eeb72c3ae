/** What BERT is trained on and used for, in the order of the notes. */

import { range } from "../../numbers/arithmetic.ts";
import { at as numberAt } from "../../numbers/safetensors.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import {
  answerReads,
  lastStates,
  missing,
  readsCase,
  secondFrom,
  tokensOf,
  wayOf,
  written,
} from "../../scenes/board/reading.ts";
import { quotedOf } from "../../scenes/board/shares.ts";
import { isLabelled, isPair, labelsOf } from "../../scenes/vectors/answer.ts";
import { answered } from "../../scenes/vectors/four_ways.ts";
import { sum, weightsOf } from "../../scenes/vectors/sizes.ts";
import { scored } from "../../scenes/vectors/skit.ts";
import type { Said } from "../../scout/said.ts";
import type { Given, Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Found, Step } from "../step.ts";

/** Where the vocabulary was scored at a hidden word. */
const guessed = (s: Scout) => (missing(s).length > 0 ? scored(s) : null);

/** The word that is followed: the first that is missing, else the example's. */
const followed = (s: Scout): number => missing(s)[0] ?? s.example.query;

/** What a document prints for the largest of its shares. */
function printed(s: Scout, picture: string): Said[] {
  const [[label = "", share = 0] = []] = Object.entries(quotedOf(s, picture)?.shares ?? {}).sort(
    ([, one], [, two]) => two - one,
  );
  return [{ text: label, of: "strong" }, " ", percent(share)];
}

const word = (s: Scout, token: number): Said => ({
  text: written(s, token) || say`token ${token}`,
  of: s.isHidden(token) ? "hidden" : "strong",
});
const last = (name: string, s: Scout): string => `${s.stack}.blocks.${s.blocks - 1}.self_attention.${name}`;
const known = (s: Scout, ...names: string[]): string[] => names.filter((name) => s.has(name));

const pieces: Step = {
  key: "pieces",
  find(s) {
    const tokens = tokensOf(s);
    const [first = 0] = tokens;
    const parts = tokens.filter((token) => written(s, token).startsWith("##"));
    const [part] = parts;
    const ids = "inputs.ids" in s.names.run.facts;
    return {
      variant: !ids ? "vectors" : written(s, first) === "" ? "plain" : part !== undefined && "parts",
      puts: {
        ...{ count: counted(tokens.length, "token"), first: word(s, first), end: word(s, tokens.at(-1) ?? 0) },
        ...{ parts: parts.length, part: word(s, part ?? first), vocabulary: s.names.run.words.vocabulary.length },
        ...{ most: s.names.run.documents?.sizes[0]?.positions ?? 0 },
      },
      at: s.at("tensor", ids ? "inputs.ids" : s.embed("sum"), { token: part ?? first }),
    };
  },
};

const chosen: Step = {
  key: "chosen",
  lacks: (s) => s.names.run.documents === undefined,
  find(s) {
    const all = tokensOf(s).length;
    const { rate = 0, mask = 0, random = 0, keep = 0 } = s.names.run.documents?.masking ?? {};
    return {
      variant: s.zeroes ? "zeros" : false,
      puts: {
        ...{ rate: percent(rate), mask: percent(mask), random: percent(random), keep: percent(keep) },
        ...{ all: counted(all, "token"), about: short(rate * all, 1), here: missing(s).length },
      },
      at: s.at("block", s.embed("word"), { query: followed(s) }),
    };
  },
};

const kinds: Step = {
  key: "kinds",
  lacks: (s) => !s.has(s.embed("segment")) || readsCase(s),
  find(s) {
    const name = s.embed("segment");
    const second = secondFrom(s);
    return {
      variant: second !== null && "pair",
      puts: {
        ...{ width: s.size(name, "channel"), number: s.number(name, { query: second ?? 0 }) },
        ...{ from: word(s, second ?? 0), first: s.number(name, { query: 0 }) },
      },
      at: s.at("tensor", name, { query: second ?? 0 }),
    };
  },
};

const blocks: Step = {
  key: "blocks",
  find(s) {
    const wide = s.size(s.embed("sum"), "channel");
    const hidden = s.after("feed_forward.hidden");
    const inside = s.has(hidden) ? s.size(hidden, "channel") : 0;
    return {
      variant: inside === 0 && "bare",
      puts: { blocks: counted(s.blocks, "block"), heads: counted(s.heads, "head"), wide, inside, tokens: s.tokens },
      at: s.at("model", s.of("weights")),
    };
  },
};

const both: Step = {
  key: "both",
  find(s) {
    const query = followed(s);
    const all = tokensOf(s).length;
    return {
      puts: { word: word(s, query), before: query + 1, all, after: Math.max(all - query - 1, 0) },
      at: s.scene("directions", s.of("weights"), { query, key: s.favourite(0, query), head: 0 }),
    };
  },
};

const looks: Step = {
  key: "looks",
  find(s) {
    const query = followed(s);
    const keys = s.seen.filter((key) => key !== query);
    const all = range(s.heads, (head) => keys.map((key) => ({ head, key, query }))).flat();
    const share = (given: Given): number => s.value(s.of("weights"), given);
    const most = all.reduce(
      (one, two) => (share(two) > share(one) ? two : one),
      all[0] ?? { head: 0, key: query, query },
    );
    return {
      variant: missing(s).length === 0 ? "seen" : s.zeroes && "zeros",
      puts: {
        word: word(s, query),
        key: word(s, most.key),
        head: most.head,
        share: s.share(s.of("weights"), most),
      },
      at: s.at("head", s.of("weights"), most),
    };
  },
};

const guess: Step = {
  key: "guess",
  lacks: (s) => guessed(s) === null,
  reads: (s) => [...answerReads(s), "head.probabilities"],
  find(s) {
    const place = guessed(s);
    const [one, two = one] = s.likeliest(place?.given ?? {}, 2);
    return {
      puts: {
        ...{ size: s.shape("head.probabilities").at(-1) ?? 1, document: printed(s, "skit") },
        ...{ best: one?.word, share: one?.share, next: two?.word, less: two?.share },
      },
      at: s.scene("skit", "head.probabilities", { ...place?.given, vocabulary: one?.share.cell.at(-1) ?? 0 }),
    };
  },
};

const loss: Step = {
  key: "loss",
  lacks: (s) => guessed(s) === null,
  reads: (s) => known(s, "head.log_probabilities", "head.probabilities"),
  find(s) {
    const name = s.has("head.log_probabilities") ? "head.log_probabilities" : "head.probabilities";
    const place = guessed(s);
    const [best] = s.likeliest(place?.given ?? {}, 1);
    const given = { ...place?.given, vocabulary: best?.share.cell.at(-1) ?? 0 };
    return {
      puts: {
        ...{ word: best?.word, share: best?.share, loss: short(-Math.log(best?.share.value ?? 1)) },
        ...{ hidden: counted(missing(s).length, "token"), others: tokensOf(s).length - missing(s).length },
      },
      at: s.at("tensor", name, given),
    };
  },
};

/** A picture of the notes next to what this model answers, where it is asked the same kind of question. */
function beside(key: string, picture: string, own: (s: Scout) => boolean): Step {
  return {
    key,
    lacks: (s) => quotedOf(s, picture) === undefined,
    reads: answerReads,
    find(s) {
      const [best] = labelsOf(s);
      return {
        variant: own(s) && "own",
        puts: { document: printed(s, picture), label: best?.label ?? "", share: percent(best?.value ?? 0) },
        at: s.scene(picture, own(s) ? "sentence_head.probabilities" : s.of("weights")),
      };
    },
  };
}

const first: Step = {
  key: "first",
  reads: (s) => [lastStates(s), last("weights", s)],
  find(s) {
    const [token = 0] = tokensOf(s);
    const name = last("weights", s);
    const share = (key: number): number => numberAt(s.tensor(name), s.cell(name, { query: token, key, head: 0 }));
    const others = tokensOf(s).slice(1);
    const key = others.reduce((one, two) => (share(two) > share(one) ? two : one), others[0] ?? 0);
    return {
      variant: !/^(\[CLS\]|<s>)$/.test(written(s, token)) && "plain",
      puts: {
        ...{ first: word(s, token), width: s.size(lastStates(s), "channel"), block: s.blocks - 1 },
        ...{ key: word(s, key), share: s.share(name, { query: token, key, head: 0 }) },
      },
      at: s.at("tensor", lastStates(s), { query: token }),
    };
  },
};

const ways: Step = {
  key: "ways",
  reads: answerReads,
  find(s) {
    const way = wayOf(s);
    return {
      variant: way !== null && "own",
      puts: {
        answer: way === null ? "" : answered(s, way, secondFrom(s) ?? 0),
        tokens: counted(tokensOf(s).length, "vector"),
      },
      at: s.scene("four-ways", lastStates(s), { query: 0 }),
    };
  },
};

const tuning: Step = {
  key: "tuning",
  find(s): Found {
    const [name, shape = []] =
      Object.entries(s.names.run.weights).find(([each]) => /(sentence|token)_head\.output\.weight$/.test(each)) ?? [];
    const wide = s.size(lastStates(s) || s.embed("sum"), "channel");
    // A weight for each channel and a bias, for each label; of a model without labels, for two of them.
    const labels = shape[0] ?? 2;
    return {
      variant: name === undefined && "none",
      puts: { last: labels * (wide + 1), labels, all: s.names.run.model.parameters, wide },
      at: name === undefined ? s.at("model", s.of("weights")) : { ...s.at("tensor", name), cell: shape.map(() => 0) },
    };
  },
};

const features: Step = {
  key: "features",
  find: (s) => ({
    puts: {
      sets: s.blocks + 1,
      blocks: counted(s.blocks, "block"),
      width: s.size(s.embed("sum"), "channel"),
      first: word(s, 0),
    },
    at: s.scene("vectors", s.names.run.vectors?.layers.at(-1) ?? last("weights", s)),
  }),
};

const sizes: Step = {
  key: "sizes",
  lacks: (s) => (s.names.run.documents?.sizes.length ?? 0) < 2,
  reads: (s) => s.ending("weights").map(({ name }) => name),
  find(s) {
    const [one, two] = s.names.run.documents?.sizes ?? [];
    const [base, large, narrow] = [one, two, one === undefined ? one : { ...one, feed_forward: one.width }].map(
      (each) => {
        return each === undefined ? 0 : sum(weightsOf(each));
      },
    );
    const own = s.names.run.model.parameters;
    return {
      puts: {
        ...{ base: base ?? 0, large: large ?? 0, own, times: short((large ?? 0) / own, 1) },
        ...{ wide: one?.width ?? 0, inside: one?.feed_forward ?? 0, narrow: narrow ?? 0 },
      },
      at: s.scene("sizes", s.of("weights")),
    };
  },
};

export const BERT: readonly Step[] = [
  ...[pieces, chosen, kinds, blocks, both, looks, guess, loss],
  ...[beside("next", "next-sentence", isPair), first, ways],
  ...[beside("label", "spam", (s) => isLabelled(s) && !isPair(s)), tuning, features, sizes],
];
