/** Step IV of the slides: the answer, how wrong it is, and where to go from here. */

import { counted, short } from "../../numbers/written.ts";
import { listed, type Said } from "../../scout/said.ts";
import { say } from "../../words/say.ts";
import type { Step } from "../step.ts";

const vocabulary: Step = {
  key: "vocabulary",
  lacks: (s) => s.guesses.length === 0,
  find(s) {
    const name = "head.probabilities";
    const [first, second = first] = s.guesses;
    const given = first?.given ?? {};
    const [best, next] = s.likeliest(given, 2);
    const [other] = s.likeliest(second?.given ?? given, 1);
    return {
      puts: {
        ...{ size: s.shape(name).at(-1) ?? 1, where: s.hidden.length > 0 ? say`each hidden place` : say`each place` },
        ...(s.writes ? { At: say`After`, at: say`after` } : { At: say`At`, at: say`at` }),
        ...{ first: first?.word, best: best?.word, share: best?.share, next: next?.word, less: next?.share },
        ...{ second: second?.word, other: other?.word, sure: other?.share },
      },
      at: s.at("tensor", name, { ...given, vocabulary: best?.share.cell.at(-1) ?? 0 }),
    };
  },
};

const labels: Step = {
  key: "labels",
  lacks: (s) => s.guesses.length > 0,
  find(s) {
    const found = s.ending("probabilities").at(-1) ?? s.ending("logits").at(-1) ?? s.names.run.formulas.at(-1);
    const name = found?.name ?? "";
    return {
      puts: {
        ...{ tensor: s.names.title(name), number: s.number(name) },
        all: s.shape(name).reduce((all, size) => all * size, 1),
      },
      at: s.at("tensor", name),
    };
  },
};

const loss: Step = {
  key: "loss",
  lacks: (s) => s.hidden.length === 0 || s.guesses.length === 0,
  find(s) {
    const best = s.guesses.flatMap(({ given }) => s.likeliest(given, 1));
    const mean = best.reduce((sum, { share }) => sum - Math.log(share.value), 0) / best.length;
    const name = s.has("head.log_probabilities") ? "head.log_probabilities" : "head.probabilities";
    const vocabulary = best[0]?.share.cell.at(-1) ?? 0;
    return {
      puts: { words: listed(best.map(({ word }): Said => word)), loss: short(mean) },
      at: s.at("tensor", name, { ...s.guesses[0]?.given, vocabulary }),
    };
  },
};

export const end: Step = {
  key: "end",
  find(s) {
    const { formulas, model } = s.names.run;
    const last = s.guesses.length > 0 ? "head.probabilities" : s.embed("word");
    return {
      variant: model.stacks.every(({ side }) => side === "encoder") && "encoder",
      puts: { tensors: counted(formulas.length, "tensor"), weights: counted(model.parameters, "weight") },
      at: s.at("block", last, s.guesses[0]?.given ?? {}),
    };
  },
};

export const ANSWER: readonly Step[] = [vocabulary, labels, loss, end];
