/** Rules of the formula table on tensors at hand, outside of any run: for a workshop, and for numbers that are printed. */

import type { Tensor } from "../numbers/safetensors.ts";
import type { Cell } from "../record/axes.ts";
import type { Formula, Rule } from "../record/record.ts";
import { Evaluator, Fields, type Working } from "./evaluator.ts";
import { RULES } from "./interpreter.ts";

/** What works a rule out for a cell of a result with these axes. */
export function rulesOn(tensors: ReadonlyMap<string, Tensor>, axes: string): (rule: Rule) => (cell: Cell) => Working {
  return (rule) => {
    const formula = { name: "", axes, rule, tokens: "inputs", keys: "inputs" } as const;
    const more: Omit<Formula, keyof typeof formula> = { unit: "", title: "", extra: false, words: "", mathml: "" };
    const run = { scored_at: null, precision: "float64" } as const;
    const evaluator = new Evaluator({ ...formula, ...more }, (name) => tensors.get(name), run);
    const compute = RULES[rule.rule];
    if (compute === undefined) throw new Error(`this page knows no rule ${rule.rule}`);
    return (cell) => compute(new Fields(rule), evaluator, cell);
  };
}
