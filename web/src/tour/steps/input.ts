/** From words to the vectors that enter the first block. */

import { operandsOf } from "../../run/evaluator.ts";
import { counted } from "../../run/numbers.ts";
import { listed, type Said, say } from "../said.ts";
import type { Scout } from "../scout.ts";
import { held, SLIDES, type Step } from "../step.ts";

const holes: Step = {
  key: "holes",
  title: "A sentence, and what the model makes of it",
  source: SLIDES.input,
  tell(s) {
    const { hidden } = s;
    const first = s.hidden[0];
    const guesses = s.guesses.filter((_, order) => order < 3);
    const best = guesses.flatMap(({ given }) => s.likeliest(given, 1));
    const answer = best.flatMap(({ word, share }, order): Said[] => [order > 0 ? ", " : "", word, " (", share, ")"]);
    const here =
      s.sentences > 1 ? `${counted(s.sentences, "sentence")}. In the one in front` : counted(s.tokens, "token");
    if (first === undefined) {
      return {
        text: say`This is one run of a real model: ${here.replace(". In the one in front", "")}, and every number that was computed from them. The tour follows the way of the words through the boxes below, one idea at a time.`,
        question: say`What could a model want to know about ${s.word(s.example.query)}?`,
        answer: say`Which other words matter for it. In one head it looks most at ${s.word(s.example.key)}: ${s.share(s.of("weights"))} of its attention.`,
        at: s.at("block", s.embed("word"), { query: s.example.query }),
      };
    }
    return {
      text: say`The model reads ${here}, ${listed(hidden.map((token) => s.word(token)))} ${hidden.length === 1 ? "was" : "were"} hidden from it: red, with its best guess written in. Its task is to find ${hidden.length === 1 ? "the word" : "these words"} from the others. The tour follows every step on the way.`,
      question: say`Cover the red words. What would you put there?`,
      answer: say`The model says ${answer}. How it came to that is what this tour shows.`,
      at: s.at("block", s.embed("word"), { query: first }),
    };
  },
};

const ids: Step = {
  key: "ids",
  title: "Each word has a number",
  source: null,
  lacks: (s) => (`${s.side}.ids` in s.names.run.facts ? "" : "this run was given vectors, no words"),
  tell(s) {
    const name = `${s.side}.ids`;
    const [first = 0] = s.seen;
    const last = s.seen.at(-1) ?? 0;
    const known = s.names.run.words.vocabulary.length || s.size(s.weight(s.embed("word")), "row");
    return {
      text: say`A model computes with numbers. Its vocabulary lists ${known} words or pieces of words, and the place of each in the list is its id: ${s.word(first)} has ${s.number(name, { token: first })}. An id is a name, not an amount: neighbours in the list need have nothing in common.`,
      question: say`Which id has ${s.word(last)}? Put it in hand.`,
      answer: say`${s.number(name, { token: last })}. The next step looks up its row in a table.`,
      at: s.at("tensor", name, { token: first }),
      touched: held(name, s.cell(name, { token: last })),
    };
  },
};

const embedding: Step = {
  key: "embedding",
  title: "Each word becomes a vector",
  source: SLIDES.input,
  tell(s) {
    const name = s.embed("word");
    const [first = 0] = s.seen;
    const [width, count] = [s.size(name, "channel"), s.shape(name).reduce((product, size) => product * size, 1)];
    const sentences = s.size(name, "sentence");
    const tokens = s.size(name, "token");
    return {
      text: say`Each word is replaced by ${width} learned numbers, its embedding. ${counted(sentences, "sentence")} of ${counted(tokens, "word")} with ${counted(width, "number")} each make a box: sentences in depth, words downwards, numbers to the right. The framed row is ${s.word(first)}; the front slice is its sentence.`,
      question: say`How many numbers does the box hold?`,
      answer: say`${sentences} × ${tokens} × ${width} = ${count}. Choose another sentence at the left: its slice comes to the front.`,
      at: s.at("block", name, { query: first }),
    };
  },
};

const position: Step = {
  key: "position",
  title: "Where each word stands",
  source: SLIDES.position,
  tell(s) {
    const name = s.embed("position");
    const formula = s.formula(name);
    if (formula === undefined) return withoutPosition(s);
    const { near, far } = distances(s);
    const made =
      formula.rule.rule === "sinusoid"
        ? "a pattern of waves, read at its place: sines and cosines, from fast to slow"
        : "a learned vector of its own";
    const pair = ({ one, two }: Pair): Said[] => say`${s.word(one)} and ${s.word(two)}`;
    return {
      text: say`Attention by itself cannot tell one order of words from another. So each place gets ${made}, the same in every sentence: ${counted(s.size(name, "channel"), "number")} that say where a word stands.`,
      question: say`Which two places have the most similar vectors?`,
      answer: say`${pair(near)}: ${near.apart} apart. The farthest, ${pair(far)}: ${far.apart}.`,
      at: s.at("tensor", name, { query: s.seen[0] ?? 0 }),
      note: {
        number: "C-1",
        text: say`“The final result stays the same” when words are switched? Without positions, each result moves along with its word. It stays the same only if summed over the sentence.`,
      },
    };
  },
};

function withoutPosition(s: Scout): ReturnType<Step["tell"]> {
  const turned = s.has(s.of("query_rotated"));
  const biased = s.has(s.of("biased"));
  const instead = turned
    ? "It turns queries and keys by their position instead, inside the attention."
    : biased
      ? "It adds a learned number for each distance to the scores instead."
      : "Whatever it knows of order comes from who may look at whom.";
  return {
    text: say`The slides add a vector for each place to the words, because attention by itself cannot tell one order from another. This model adds none. ${instead}`,
    question: say`Where would the order be lost without it?`,
    answer: say`In the sums of attention: added up in another order, the same words give the same sum.`,
    at: s.at("block", turned ? s.of("query_rotated") : s.embed("word")),
  };
}

interface Pair {
  readonly one: number;
  readonly two: number;
  readonly distance: number;
  readonly apart: string;
}

/** The two places whose position vectors are nearest to each other, and the two farthest apart, of the first words. */
function distances(s: Scout): { near: Pair; far: Pair } {
  const name = s.embed("position");
  const width = s.size(name, "channel");
  const places = s.all.slice(0, 48);
  const vectors = places.map((token) =>
    Array.from({ length: width }, (_, channel) => s.value(name, { token, channel })),
  );
  const pairs = places.flatMap((one) => {
    return places.slice(one + 1).map((two): Pair => {
      const distance = Math.hypot(...(vectors[one] ?? []).map((value, at) => value - (vectors[two]?.[at] ?? 0)));
      return { one, two, distance, apart: distance.toFixed(2) };
    });
  });
  const none: Pair = { one: 0, two: 0, distance: 0, apart: (0).toFixed(2) };
  const sorted = pairs.sort((one, two) => one.distance - two.distance);
  return { near: sorted[0] ?? none, far: sorted.at(-1) ?? none };
}

const sum: Step = {
  key: "sum",
  title: "Word plus position",
  source: SLIDES.position,
  lacks: (s) => (s.has(s.embed("position")) ? "" : "this model adds no position to its words"),
  reads: (s) => operandsOf(s.formula(s.embed("sum"))?.rule ?? { rule: "" }).map(([, operand]) => operand.name),
  tell(s) {
    const name = s.embed("sum");
    const token = s.seen.at(-1) ?? 0;
    const terms = operandsOf(s.formula(name)?.rule ?? { rule: "" }).filter(([role]) => role !== "masked_words");
    const added = terms.flatMap(([, operand], order): Said[] => {
      return [order > 0 ? " + " : "", s.number(operand.name, { token })];
    });
    return {
      text: say`Both are added, number by number. The first number of ${s.word(token)}: ${added} = ${s.number(name, { token })}. From here on one vector says which word it is and where it stands.`,
      question: say`Which of these would change if ${s.word(token)} stood elsewhere?`,
      answer: say`Only the position: a word’s own vector is the same at every place.`,
      at: s.at("number", name, { token }),
    };
  },
};

const mask: Step = {
  key: "mask",
  title: "The mask says what is hidden",
  source: SLIDES.mask,
  lacks: (s) => {
    if (`${s.side}.masked_words` in s.names.run.facts && s.hidden.length > 0) return "";
    return s.hidden.length > 0 ? "this model hides words by a token, not by a mask" : "no word of this text is hidden";
  },
  tell(s) {
    const name = `${s.side}.masked_words`;
    const { data } = s.tensor(name);
    const all = Array.from(data).filter((value) => value !== 0).length;
    const [token = 0] = s.hidden;
    const [seen = 0] = s.seen;
    return {
      text: say`The guess must not know the answer. A mask tells which words are hidden: ${s.number(name, { token })} for ${s.word(token)}, ${s.number(name, { token: seen })} for ${s.word(seen)} (the slides draw it the other way round). It is used twice: hidden words become zeros, and later nobody may look at them.`,
      question: say`How many words are hidden in all sentences together?`,
      answer: say`${all} of ${data.length}.`,
      at: s.at("tensor", name, { token }),
    };
  },
};

const zeros: Step = {
  key: "hidden",
  title: "Hidden words are red",
  source: SLIDES.mask,
  lacks: (s) => (s.hidden.length > 0 ? "" : "no word of this text is hidden"),
  tell(s) {
    const [one = 0, two] = s.hidden;
    const words = listed(s.hidden.map((token) => s.word(token)));
    const at = s.at("block", s.embed("word"), { query: one });
    if (!s.zeroes) {
      const written = s.names.run.words[s.side][s.sentence]?.[one] ?? "";
      return {
        text: say`For ${words} the model reads ${written}, a token like any other, with a learned vector. It stands in red here until attention has filled it with what the other words tell.`,
        question: say`May the other words look at it?`,
        answer:
          s.forbids === "hidden"
            ? say`No: its scores are masked.`
            : say`Yes. It tells them that a word is missing there.`,
        at,
        note: {
          number: "C-3",
          text: say`The slides set hidden words to zeros, and nobody may look at them. BERT does neither.`,
        },
      };
    }
    const sum = s.embed("sum");
    const known = two === undefined ? say`Where it stands, and nothing else.` : null;
    return {
      text: say`Where ${words} stood, the word vectors are zeros: the red cubes. After the sum, only their places are left in them. They stay red in every box until attention has filled them with what the other words tell.`,
      question:
        two === undefined
          ? say`What does the model know of ${s.word(one)}?`
          : say`What tells ${s.word(one)} from ${s.word(two)} now?`,
      answer:
        known ??
        say`Only their places: their sums begin with ${s.number(sum, { token: one })} and ${s.number(sum, { token: two ?? one })}.`,
      at,
    };
  },
};

export const INPUT: readonly Step[] = [holes, ids, embedding, position, sum, mask, zeros];
