/** Step I of the slides: queries and keys, scores, the mask, the softmax. */

import { operandsOf } from "../../run/evaluator.ts";
import { explainCell } from "../../run/interpreter.ts";
import { counted, short } from "../../run/numbers.ts";
import { listed, type Said, say } from "../said.ts";
import type { Scout } from "../scout.ts";
import { held, SLIDES, type Step } from "../step.ts";
import { twinsOf } from "../twins.ts";

const attends = (s: Scout): string => (s.attention === "" ? "this model has no self-attention" : "");

const twins: Step = {
  key: "twins",
  title: "A mistake that one click shows",
  source: SLIDES.mask,
  lacks: (s) => {
    if (!s.zeroes) return "this model does not set hidden words to zeros";
    return s.hidden.length > 1 ? "" : "it takes two hidden words in one sentence";
  },
  reads: (s) => Object.keys(s.names.run.weights),
  tell(s) {
    const [one = 0, two = 0] = s.hidden;
    const sum = s.embed("sum");
    const after = twinsOf(s.names, s.fetch, s.sentence);
    const guess = after.guesses[0];
    return {
      text: say`The slides set the vectors of hidden words to zeros, and leave open when. After the position is added? Then ${s.word(one)} and ${s.word(two)} are one and the same vector from there on. This model sets the word to zeros first and then adds the position.`,
      question: say`Zeroed after adding: what will the model guess at the two places?`,
      answer: say`The same at both: ${guess?.text ?? "one word"}, ${guess === undefined ? "" : short(guess.share)} and ${guess === undefined ? "" : short(guess.other)}. Two different words were hidden, so one of the guesses is wrong, however long it is trained.`,
      at: s.scene("twins", sum, { query: one }),
      touched: (now) => now.scene === "after",
      act: { text: "Zero them after adding", to: { scene: "after", level: "scene" } },
      change: s.hidden.map((token) => ({ kind: "replace", where: sum, by: 0, cell: [s.sentence, token, null] })),
      note: {
        number: "C-2",
        text: say`Zero the word, then add its position. The page has worked out the other order for you.`,
      },
    };
  },
};

const goal: Step = {
  key: "goal",
  title: "What do we want to achieve?",
  source: SLIDES.goal,
  lacks: attends,
  tell(s) {
    const { query, head } = s.example;
    const shares = Array.from({ length: Math.min(s.heads, 3) }, (_, each) => {
      const key = s.favourite(each);
      return say`head ${each} takes most from ${s.word(key)} (${s.share(s.of("weights"), { head: each, key })})`;
    });
    const own = s.isHidden(query) ? say` Its own input is not in the sum: it is hidden.` : say``;
    return {
      text: say`A word comes in knowing itself alone; it should leave knowing the words around it. Its new vector becomes a weighted sum over the sentence, with weights that the model chooses.${own} Each of ${counted(s.heads, "head")} chooses weights of its own.`,
      question: say`Which words should ${s.word(query)} look at?`,
      answer: say`In this model, ${shares.flatMap((share, order): Said[] => [order > 0 ? ", " : "", ...share])}.`,
      at: s.at("block", s.of("weights"), { head }),
    };
  },
};

const search: Step = {
  key: "search",
  title: "Think of a search",
  source: null,
  lacks: attends,
  tell(s) {
    const { query, key } = s.example;
    return {
      text: say`Searching for a film, you type a query. It is compared with a key of every film, such as its title, and the best matches hand you their value, the film. Attention is a soft search: each word asks, all answer, and each gives a share of its value.`,
      question: say`${s.word(query)} looks at ${s.word(key)}. Who asks, who answers, who gives?`,
      answer: say`${s.word(query)} asks with its query. ${s.word(key)} answers with its key, and gives a share of its value.`,
      at: s.at("block", s.of("query")),
    };
  },
};

/** How many weights a projection has: what goes in, what comes out of each head, heads. */
function counts(s: Scout, last: string): { input: number; out: number; heads: number; all: number } {
  const [rows = 1, input = 1] = s.shape(s.weight(s.of(last)));
  const out = s.size(s.of(last), "channel");
  return { input, out, heads: rows / out, all: rows * input };
}

const tables: Step = {
  key: "tables",
  title: "Learned tables make queries and keys",
  source: SLIDES.scores,
  lacks: attends,
  reads: (s) => [s.weight(s.of("query"))],
  tell(s) {
    const { input, out, heads, all } = counts(s, "query");
    const key = counts(s, "key");
    const both =
      key.all === all ? say`Each has` : say`W_K has ${key.input} × (${key.out} × ${key.heads}) = ${key.all}, W_Q`;
    const together = all + key.all + counts(s, "value").all;
    return {
      text: say`Words are not compared as they are. A query is the word’s vector times a table of learned weights, W_Q; a key is the same vector times another, W_K. ${both} ${input} × (${out} × ${heads}) = ${all} weights: ${input} numbers in, ${out} out, for each of ${counted(heads, "head")}.`,
      question: say`How many weights do W_Q, W_K and the later W_V have together?`,
      answer: say`${all} + ${key.all} + ${together - all - key.all} = ${together}.`,
      at: s.at("tensor", s.weight(s.of("query"))),
    };
  },
};

const shared: Step = {
  key: "shared",
  title: "One table serves all sentences",
  source: SLIDES.scores,
  lacks: attends,
  reads: (s) => [s.weight(s.of("query"))],
  tell(s) {
    const { all } = counts(s, "query");
    return {
      text: say`There is one W_Q, however many sentences there are. It is expanded along the depth of the box, without copying a number: every word of every sentence is multiplied with the same weights. Here ${counted(s.sentences * s.tokens, "word")} share it.`,
      question: say`With twice as many sentences, how many weights would W_Q have?`,
      answer: say`Still ${all}.`,
      at: s.scene("shared", s.of("query")),
    };
  },
};

const query: Step = {
  key: "query",
  title: "The query: what a word looks for",
  source: SLIDES.scores,
  lacks: attends,
  reads: (s) => operandsOf(s.formula(s.of("query"))?.rule ?? { rule: "" }).map(([, operand]) => operand.name),
  tell(s) {
    const name = s.of("query");
    const formula = s.formula(name);
    const cell = s.cell(name);
    const axes = s.names.axes(name);
    const found =
      formula &&
      explainCell(formula, Object.fromEntries(axes.map((axis, at) => [axis, cell[at] ?? 0])), s.fetch, s.names.run);
    const terms = found?.terms ?? [];
    const most = terms.reduce(
      (best, term, at) => (Math.abs(term.value) > Math.abs(terms[best]?.value ?? 0) ? at : best),
      0,
    );
    const factors = (terms[most]?.factors ?? []).flatMap((factor, order): Said[] => {
      if (factor.name === null) return [];
      const shown = { text: short(factor.value), of: s.names.role(factor.name), value: factor.value };
      return [order > 0 ? " × " : "", { ...shown, name: factor.name, cell: factor.index }];
    });
    return {
      text: say`One number of the query of ${s.word(s.example.query)} in head ${s.example.head}: its vector times one column of the table. That is ${counted(terms.length, "term")}, added up to ${s.number(name)}. Every bar below leads on: to the word, or to the weight.`,
      question: say`Which term counts most?`,
      answer: say`The one of number ${most}: ${factors} = ${short(terms[most]?.value ?? 0)}.`,
      at: s.at("number", name),
    };
  },
};

const key: Step = {
  key: "key",
  title: "The key: what a word answers with",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const { key: token, query: looks } = s.example;
    const [one, two] = [s.of("query"), s.of("key")];
    const place = s.isHidden(looks)
      ? say`The key of ${s.word(looks)} is made of its place alone.`
      : say`Query and key of a word are two different vectors.`;
    return {
      text: say`Every word also has a key, made of the same vector by another table. Queries and keys have the same size, ${counted(s.size(two, "channel"), "number")} a head, so that they can be multiplied with each other. ${place}`,
      question: say`Is the key of ${s.word(token)} equal to its query?`,
      answer: say`No: its query begins with ${s.number(one, { query: token, token })}, its key with ${s.number(two, { key: token })}.`,
      at: s.at("tensor", two, { key: token }),
    };
  },
};

const rotary: Step = {
  key: "rotary",
  title: "Queries and keys are turned by their place",
  source: null,
  lacks: (s) => (s.has(s.of("query_rotated")) ? "" : "this model does not turn its queries and keys"),
  tell(s) {
    const [before, after] = [s.of("query"), s.of("query_rotated")];
    const token = s.example.query;
    return {
      text: say`Here the place comes in: pairs of numbers of each query and key are turned, like the hand of a clock, by an angle that grows with the position. The score of two words then depends on their distance. For ${s.word(token)}, ${s.number(before)} became ${s.number(after)}.`,
      question: say`Which word is not turned at all?`,
      answer: say`The first one: at position zero the angle is zero.`,
      at: s.at("number", after),
    };
  },
};

const cells: Step = {
  key: "cells",
  title: "One score for each pair of words",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const { query: asks, key: answers, head } = s.example;
    const name = s.of("scores");
    const best = s.all.reduce(
      (most, each) => (s.value(name, { key: each }) > s.value(name, { key: most }) ? each : most),
      0,
    );
    return {
      text: say`How well does the key of ${s.word(answers)} answer the query of ${s.word(asks)}? Multiply them number by number and add up: their dot product, ${s.number(name)}, is the score. The picture builds head ${head} cell by cell: press → for the next pair.`,
      question: say`Which word has the highest score for ${s.word(asks)}? Put it in hand.`,
      answer: say`${s.word(best)}, with ${s.number(name, { key: best })}.`,
      at: s.scene("cells", name),
      touched: held(name, s.cell(name, { key: best })),
    };
  },
};

const scores: Step = {
  key: "scores",
  title: "The score tensor",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const name = s.of("scores");
    const { query: one, key: two, head } = s.example;
    return {
      text: say`All ${s.size(name, "query")} × ${s.size(name, "key")} scores of head ${head} in this sentence. The row of ${s.word(one)} holds how well each word answers it. A score can be negative, and the scores of a row add up to nothing in particular: they are not shares yet.`,
      question: say`Is the table the same when rows and columns change places?`,
      answer: say`No. ${s.word(one)} → ${s.word(two)} is ${s.number(name)}, ${s.word(two)} → ${s.word(one)} is ${s.number(name, { query: two, key: one })}: queries and keys come from different tables.`,
      at: s.at("tensor", name),
    };
  },
};

const product: Step = {
  key: "product",
  title: "All heads in one product",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const name = s.of("scores");
    const shape = s.shape(name);
    const [sentences = 1, heads = 1] = shape;
    return {
      text: say`${counted(sentences, "sentence")} × ${counted(heads, "head")} make ${counted(sentences * heads, "score table")}. They are computed as one product of tensors with four dimensions: sentence, head, word, number. Heads do not mix: the queries of a head meet the keys of the same head.`,
      question: say`How many scores is that?`,
      answer: say`${shape.join(" × ")} = ${shape.reduce((all, size) => all * size, 1)}.`,
      at: s.scene("product", name),
    };
  },
};

const scaled: Step = {
  key: "scaled",
  title: "Scores divided by a root",
  source: null,
  lacks: attends,
  tell(s) {
    const size = s.size(s.of("query"), "channel");
    const root = short(Math.sqrt(size), 2);
    const question = say`What would large scores do to the softmax?`;
    const answer = say`One weight would be nearly all, the others nearly nothing, and then training hardly moves them.`;
    if (!s.has(s.of("scaled"))) {
      return {
        text: say`Most Transformers divide each score by the root of the query size, here √${size} = ${root}. The slides do not, and this model does not either, so nothing is drawn for it: its scores go on as they are, ${s.number(s.of("scores"))} for the pair in hand.`,
        question,
        answer,
        at: s.at("block", s.of("scores")),
      };
    }
    const [from, to] = [s.number(s.of("scores")), s.number(s.of("scaled"))];
    return {
      text: say`A sum of ${counted(size, "product")} grows with the root of their number. So each score is divided: ${from} became ${to}. Usually by the root of the query size, here √${size} = ${root}.`,
      question,
      answer,
      at: s.at("number", s.of("scaled")),
      note: {
        number: "C-43",
        text: say`The guide says that unscaled products explode. Softmax keeps weights between zero and one; it is the gradients that vanish.`,
      },
    };
  },
};

const masking: Step = {
  key: "masking",
  title: "Nobody looks at what is forbidden",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const name = s.of("masked");
    const before = s.names.formulas.get(name)?.rule["x"] as { name?: string } | undefined;
    const from = before?.name ?? s.of("scores");
    const { query: looks } = s.example;
    if (s.forbids === "hidden") {
      const [token = 0] = s.hidden;
      const fill = s.number(name, { key: token });
      return {
        text: say`Hidden words must not be looked at. In every row, the scores of ${listed(s.hidden.map((each) => s.word(each)))} are replaced by ${fill}, whatever they were: for ${s.word(looks)} → ${s.word(token)}, ${s.number(from, { key: token })} became ${fill}.`,
        question: say`Why not simply set them to zero?`,
        answer: say`Zero is a score like any other, and the softmax would give it a share. Of ${fill} it makes exactly nothing.`,
        at: s.at("tensor", name, { key: token }),
        note: {
          number: "C-4",
          text: say`Other models fill with other numbers, down to −∞. They differ only where a whole row is forbidden.`,
        },
      };
    }
    if (s.forbids === "ahead") {
      const last = s.tokens - 1;
      const given = { query: 0, key: last };
      return {
        text: say`A model that writes must not look ahead, at words that it has still to write. Above the diagonal, every score is replaced: ${s.word(0)} → ${s.word(last)} was ${s.number(from, given)} and is ${s.number(name, given)} now. What is left is a triangle: each word sees itself and the words before.`,
        question: say`How many words does ${s.word(0)} see?`,
        answer: say`One: itself. The last word sees all ${s.tokens}.`,
        at: s.at("tensor", name, given),
      };
    }
    return {
      text: say`The slides forbid everyone to look at hidden words. This model forbids nothing here: each of the ${s.tokens} tokens may look at every other, and only padding, or another document, would be left out.`,
      question: say`May ${s.word(looks)} look at itself?`,
      answer: say`Yes: ${s.share(s.of("weights"), { key: looks })} of its attention in head ${s.example.head} stays with itself.`,
      at: s.at("tensor", s.of("may_look")),
    };
  },
};

const softmax: Step = {
  key: "softmax",
  title: "Softmax: scores become shares",
  source: SLIDES.scores,
  lacks: attends,
  tell(s) {
    const name = s.of("weights");
    const { query: looks, key: at } = s.example;
    const total = s.all.reduce((all, each) => all + s.value(name, { key: each }), 0);
    const [hidden] = s.forbids === "hidden" ? s.hidden : [];
    return {
      text: say`e to the power of each score, divided by the sum over the row: the scores of ${s.word(looks)} become weights between zero and one. ${s.word(at)} gets ${s.number(name)}. ${hidden === undefined ? say`High scores take most.` : say`${s.word(hidden)}, which was masked, gets ${s.number(name, { key: hidden })}.`}`,
      question: say`What do the weights of a row add up to?`,
      answer: say`${short(total)}, in every row of every head.`,
      at: s.at("number", name),
    };
  },
};

export const SCORES: readonly Step[] = [
  ...[twins, goal, search, tables, shared, query, key, rotary],
  ...[cells, scores, product, scaled, masking, softmax],
];
