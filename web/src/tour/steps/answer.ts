/** Step IV of the slides: the answer, how wrong it is, and where to go from here. */

import { counted, short } from "../../run/numbers.ts";
import { listed, type Said, say } from "../said.ts";
import { SLIDES, type Step } from "../step.ts";

const vocabulary: Step = {
  key: "vocabulary",
  title: "A probability for every word",
  source: SLIDES.predict,
  lacks: (s) => (s.guesses.length > 0 ? "" : "this model answers otherwise, not with words"),
  tell(s) {
    const name = "head.probabilities";
    const [first, second = first] = s.guesses;
    const given = first?.given ?? {};
    const [best, next] = s.likeliest(given, 2);
    const other = s.likeliest(second?.given ?? given, 1)[0];
    const size = s.shape(name).at(-1) ?? 1;
    const where = s.hidden.length > 0 ? "each hidden place" : "each place";
    return {
      text: say`A last learned table turns the vector at ${where} into ${size} scores, one for each word of the vocabulary; a softmax makes probabilities of them. At ${first?.word ?? ""}: ${best?.word ?? ""} ${best?.share ?? ""}, ${next?.word ?? ""} ${next?.share ?? ""}.`,
      question: say`What does the model guess at ${second?.word ?? ""}, and how sure is it?`,
      answer: say`${other?.word ?? ""}, with ${other?.share ?? ""}.`,
      at: s.at("tensor", name, { ...given, vocabulary: best?.share.cell.at(-1) ?? 0 }),
    };
  },
};

const labels: Step = {
  key: "labels",
  title: "The answer of this model",
  source: null,
  lacks: (s) => (s.guesses.length === 0 ? "" : "this model answers with words"),
  tell(s) {
    const last = s.names.run.formulas.at(-1);
    const found = s.ending("probabilities").at(-1) ?? s.ending("logits").at(-1) ?? last;
    const name = found?.name ?? "";
    return {
      text: say`The slides end with a probability for every word. This model answers otherwise: ${found?.title ?? "its last tensor"}. The number in hand is ${s.number(name)}, and like every other it can be followed home, down to a word and a weight.`,
      question: say`How many numbers is its answer here?`,
      answer: say`${s.shape(name).reduce((all, size) => all * size, 1)}.`,
      at: s.at("tensor", name),
    };
  },
};

const loss: Step = {
  key: "loss",
  title: "How wrong is it?",
  source: null,
  lacks: (s) => (s.hidden.length > 0 && s.guesses.length > 0 ? "" : "no right answer is known for this text"),
  tell(s) {
    const likely = s.guesses.flatMap(({ given, word }) => {
      const [best] = s.likeliest(given, 1);
      return best === undefined ? [] : [{ word, best }];
    });
    const mean = likely.reduce((sum, { best }) => sum - Math.log(best.share.value), 0) / likely.length;
    const words = listed(likely.map(({ best }): Said => best.word));
    return {
      text: say`Training needs one number for how wrong the guesses are: minus the logarithm of the probability of each right word, on average. If ${words} ${likely.length === 1 ? "is" : "are"} right, it is ${short(mean)} in this sentence. Each weight is then moved a little so that it becomes smaller.`,
      question: say`When is it zero?`,
      answer: say`When every right word has all of the probability. The worse the guess, the larger it is.`,
      at: s.at("tensor", s.has("head.log_probabilities") ? "head.log_probabilities" : "head.probabilities", {
        ...s.guesses[0]?.given,
        vocabulary: likely[0]?.best.share.cell.at(-1) ?? 0,
      }),
    };
  },
};

const end: Step = {
  key: "end",
  title: "Now your own sentence",
  source: null,
  tell(s) {
    const { run } = s.names;
    return {
      text: say`That was the whole way, through ${counted(run.formulas.length, "tensor")} made with ${counted(run.model.parameters, "weight")}. Every number here can be opened and followed to a word and a weight. The same tour exists for your own sentence and your own model, with their numbers.`,
      question: say`How do I get it?`,
      answer: say`In a terminal: glassformer explain MODEL “your sentence” --html page.html, or glassformer explore for a live page. In Python: model.trace("your sentence").to_html("page.html").`,
      at: s.at("block", s.guesses.length > 0 ? "head.probabilities" : s.embed("word"), s.guesses[0]?.given ?? {}),
    };
  },
};

export const ANSWER: readonly Step[] = [vocabulary, labels, loss, end];
