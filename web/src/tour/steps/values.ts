/** Steps II and III of the slides: what attention passes on, and the feed-forward network. */

import { operandsOf } from "../../run/evaluator.ts";
import { counted } from "../../run/numbers.ts";
import { listed, type Said, say } from "../said.ts";
import type { Scout } from "../scout.ts";
import { held, SLIDES, type Step } from "../step.ts";

const attends = (s: Scout): string => (s.attention === "" ? "this model has no self-attention" : "");

const value: Step = {
  key: "value",
  title: "The value: what a word gives",
  source: SLIDES.values,
  lacks: attends,
  tell(s) {
    const name = s.of("value");
    const [rows = 1, input = 1] = s.shape(s.weight(name));
    const out = s.size(name, "channel");
    const same =
      out === s.size(s.of("query"), "channel") ? "as many as a query has, though it need not be" : "a size of its own";
    return {
      text: say`A third table, W_V, makes the values: what a word passes on to those that look at it. It has ${input} × (${out} × ${rows / out}) = ${rows * input} weights; a value has ${counted(out, "number")} a head, ${same}.`,
      question: say`Who decides how much of the value of ${s.word(s.example.key)} goes to ${s.word(s.example.query)}?`,
      answer: say`The weight from the step before, ${s.number(s.of("weights"))}: it came from query and key, not from the value.`,
      at: s.at("tensor", name, { key: s.example.key }),
    };
  },
};

const mixing: Step = {
  key: "mixing",
  title: "Weight times value, word after word",
  source: SLIDES.values,
  lacks: attends,
  tell(s) {
    const { query, head } = s.example;
    const name = s.of("weights");
    const best = s.favourite(head);
    return {
      text: say`The new vector of ${s.word(query)} in head ${head} is a sum over the sentence: the value of each word times its weight, ${s.number(name, { key: 0 })} × the value of ${s.word(0)} first. Press ↓ to add the next word; the slides leave out the last ones, here are all.`,
      question: say`Which word brings most of the sum? Put its weight in hand.`,
      answer: say`${s.word(best)}, with a weight of ${s.number(name, { key: best })}.`,
      at: s.scene("mixing", name, { query, key: 0 }),
      touched: held(name, s.cell(name, { key: best })),
      note: {
        number: "C-33",
        text: say`In the slides’ third step, the third word’s weight multiplies the second word’s raw vector. Right is the third word’s own value.`,
      },
    };
  },
};

const filled: Step = {
  key: "filled",
  title: "Made of the other words",
  source: SLIDES.values,
  lacks: attends,
  tell(s) {
    const { query, head } = s.example;
    const hidden = s.isHidden(query);
    const own = s.number(s.of("weights"), { key: query });
    const others = s.all.filter((key) => key !== query && s.value(s.of("weights"), { key }) > 0);
    const words = listed(
      others.map((key) => s.word(key)),
      3,
    );
    const what = hidden && s.forbids === "hidden" ? say`The red is gone: ` : say``;
    return {
      text: say`${what}${s.word(query)} now has a vector made of ${words}, in each head another mixture. Weights times values is again one product of tensors with four dimensions, and no head reads the values of another.`,
      question: say`How much of its own input does ${s.word(query)} take in head ${head}?`,
      answer:
        own.value === 0
          ? say`Nothing: its own weight is ${own}. What it knows now, it knows from the others.`
          : say`Its weight for itself is ${own}.`,
      at: s.at("block", s.of("mixed")),
    };
  },
};

const merge: Step = {
  key: "merge",
  title: "Heads side by side, and back to the old width",
  source: SLIDES.values,
  lacks: attends,
  reads: (s) => [s.weight(s.of("output"))],
  tell(s) {
    const out = s.size(s.of("mixed"), "channel");
    const [rows = 1, input = 1] = s.shape(s.weight(s.of("output")));
    return {
      text: say`The vectors of ${counted(s.heads, "head")} are laid side by side: ${s.heads} × ${out} = ${input} numbers for each word. Then a learned table, W_O, with ${input} × ${rows} = ${input * rows} weights brings them back to ${rows}, the width with which they came in.`,
      question: say`In which of the two are the heads mixed?`,
      answer: say`Only in W_O: each number it gives is made of the numbers of all heads.`,
      at: s.at("block", s.of("output")),
    };
  },
};

const residual: Step = {
  key: "residual",
  title: "What came in is added back",
  source: SLIDES.values,
  lacks: (s) => (s.has(s.of("residual")) ? "" : "this attention has no residual"),
  tell(s) {
    const name = s.of("residual");
    const { query } = s.example;
    const terms = operandsOf(s.formula(name)?.rule ?? { rule: "" }).map(([, operand]) => s.number(operand.name));
    const added = terms.flatMap((term, order): Said[] => [order > 0 ? " + " : "", term]);
    const why =
      s.isHidden(query) && s.zeroes
        ? say`Here you see why hidden words had to be zeros: else the answer itself would come back in.`
        : say`If attention finds nothing of use, the word is still there.`;
    return {
      text: say`Something may be lost on the way, so what came into the attention is added to what came out, number by number. The first number of ${s.word(query)}: ${added} = ${s.number(name)}. ${why}`,
      question: say`What comes back for ${s.word(query)} in this sum?`,
      answer:
        s.isHidden(query) && s.zeroes
          ? say`Its place alone. Its word vector was zeros.`
          : say`The vector with which it came into this block.`,
      at: s.at("number", name),
    };
  },
};

const norm: Step = {
  key: "norm",
  title: "A common scale for every word",
  source: null,
  lacks: attends,
  tell(s) {
    const found = s.ending("norm").find(({ name }) => name.startsWith(s.stack) && !name.includes(".embed."));
    if (found === undefined) {
      return {
        text: say`Most Transformers bring every word’s vector to a common scale around each attention and each feed-forward network: the norm. The slides draw none, and this model has none, so no box is drawn for it.`,
        question: say`Over which numbers would it be taken: those of a word, or those of a sentence?`,
        answer: say`Those of one word: each vector by itself, across its channels.`,
        at: s.at("block", s.has(s.of("residual")) ? s.of("residual") : s.of("output")),
      };
    }
    const inside = s.tensor(found.name);
    const width = inside.shape.at(-1) ?? 1;
    return {
      text: say`The ${counted(width, "number")} of each word are brought to a common scale by a norm, so that no block gets vectors far larger than the last one did. Every word is normed by itself, then each channel is multiplied by a learned number.`,
      question: say`Do the other words of the sentence have a say in it?`,
      answer: say`No. A norm works across the channels of one word; open the number and see.`,
      at: s.at("number", found.name),
      note: {
        number: "C-42",
        text: say`The notes say that it works “in the layer axis”. It works across the channels of each word.`,
      },
    };
  },
};

const recap: Step = {
  key: "recap",
  title: "Attention on one page",
  source: null,
  lacks: attends,
  tell(s) {
    return {
      text: say`X, the words as vectors, goes in. Each head makes its own queries, keys and values of X, its weights of queries and keys, and of weights and values its Z. All Z side by side, times W_O, are the Z of the block: as large as X.`,
      question: say`Which table is not a head’s own?`,
      answer: say`W_O: one for all heads together. W_Q, W_K and W_V have a part for each head.`,
      at: s.scene("recap", s.of("output")),
      note: { number: "C-14", text: say`The notes write W_O where they list the tables of a head. They mean W_Q.` },
    };
  },
};

const forward: Step = {
  key: "forward",
  title: "Each word for itself",
  source: SLIDES.forward,
  lacks: (s) => (s.has(s.after("feed_forward.activated")) ? "" : "this block has no feed-forward network"),
  tell(s) {
    const name = s.after("feed_forward.activated");
    const [wide, back] = [s.size(name, "channel"), s.size(s.after("feed_forward.output"), "channel")];
    const { query } = s.example;
    const numbers = Array.from({ length: wide }, (_, channel) => s.value(name, { channel }));
    const silent = numbers.filter((number) => number === 0).length;
    return {
      text: say`A small network of two layers works on each word, at every place with the same weights. It widens ${back} numbers to ${wide}, sends each through an activation function that holds back negative ones, and returns to ${back}. No word looks at another here.`,
      question: say`How many of the ${wide} are zero for ${s.word(query)}?`,
      answer:
        silent === 0
          ? say`None: this function only damps negative numbers. The first is ${s.number(name)}.`
          : say`${silent}: their sums were negative.`,
      at: s.at("tensor", name, { channel: Math.max(0, numbers.indexOf(0)) }),
    };
  },
};

const stack: Step = {
  key: "stack",
  title: "The same again, and again",
  source: null,
  lacks: (s) => (s.blocks > 1 ? "" : "this model has a single block"),
  tell(s) {
    const name = s.of("weights");
    const deep = name.replace(/\.blocks\.\d+\./, `.blocks.${s.blocks - 1}.`);
    const there = s.has(deep) ? deep : name;
    return {
      text: say`This model stacks ${s.blocks} such blocks. What leaves one enters the next, as wide as before, and each has weights of its own. The slides draw a single block. Below is the last one: the same boxes, other numbers.`,
      question: say`Does ${s.word(s.example.query)} still look at ${s.word(s.example.key)} in the last block?`,
      answer: say`Head ${s.example.head} of the last block gives it ${s.share(there)}; that of the first gave ${s.share(name)}. They are different heads with different tables.`,
      at: s.at("block", there),
    };
  },
};

const crossing: Step = {
  key: "cross",
  title: "The decoder looks at the encoder",
  source: null,
  lacks: (s) =>
    s.ending("weights").some(({ name }) => name.includes("cross_attention")) ? "" : "this model has one stack",
  tell(s) {
    const name = s.ending("weights").find((each) => each.name.includes("cross_attention"))?.name ?? "";
    const { names, sentence } = s;
    const shape = s.shape(name);
    const share = (key: number): number => s.value(name, { query: 0, key, head: 0 });
    const best = Array.from({ length: shape.at(-1) ?? 1 }, (_, key) => key).reduce(
      (most, key) => (share(key) > share(most) ? key : most),
      0,
    );
    const given = { query: 0, key: best, head: 0 };
    const target: Said = { text: names.word("decoder_inputs", sentence, 0).text, of: "strong" };
    return {
      text: say`A second stack writes the target. Between its own attention and its feed-forward network stands another attention, to the source: queries from the decoder, keys and values from the encoder. So its weights have a row for each target word, a column for each source word: ${shape.slice(-2).join(" × ")}.`,
      question: say`Where does ${target}, the first token of the decoder, look most in head ${0}?`,
      answer: say`At ${s.word(best)}: ${s.share(name, given)}.`,
      at: s.at("tensor", name, given),
      note: {
        number: "C-5",
        text: say`The notes and the guide take queries and keys from the encoder, values from the decoder. The decoder asks; the encoder answers and gives.`,
      },
    };
  },
};

export const VALUES: readonly Step[] = [
  ...[value, mixing, filled, merge, residual, norm, recap, forward, stack, crossing],
];
