/** The formulas of several blocks with norms, made from those of the only block of the slides' model, which has none. */

import { isOperand } from "../formulas/evaluator.ts";
import { range } from "../numbers/arithmetic.ts";
import type { Formula, Rule } from "../record/record.ts";

const [BLOCK, SUM] = ["encoder.blocks.0.", "encoder.embed.sum"];

/** As the package writes them for `slides(norm=True, feed_forward_residual=True, layers=blocks)`; as given for no blocks. */
export function deeper(formulas: readonly Formula[], blocks: number): Formula[] {
  if (blocks === 0) return [...formulas];
  const [own, around] = [formulas.filter(({ name }) => name.startsWith(BLOCK)), formulas.filter(outside)];
  const made = range(blocks, (block) => blockOf(own, block)).flat();
  const last = `encoder.blocks.${blocks - 1}.feed_forward.norm`;
  const read = (name: string): string => (name === `${BLOCK}feed_forward.output` ? last : name);
  return [
    ...around.filter(({ name }) => !name.startsWith("head.")),
    ...made,
    ...around.filter(({ name }) => name.startsWith("head.")).map((each) => renamed(each, read)),
  ];
}

function outside({ name }: Formula): boolean {
  return !name.startsWith(BLOCK);
}

/** One block: each sublayer's result is added to what came in, and the sum is normed. */
function blockOf(own: readonly Formula[], block: number): Formula[] {
  const before = block === 0 ? SUM : `encoder.blocks.${block - 1}.feed_forward.norm`;
  const here = (name: string): string => {
    if (name === SUM) return before;
    return name
      .replace(BLOCK, `encoder.blocks.${block}.`)
      .replace("parameters.encoder.blocks.0.", `parameters.encoder.blocks.${block}.`);
  };
  const found: Formula[] = [];
  for (const formula of own) {
    const name = formula.name.slice(BLOCK.length);
    const read = (operand: string): string =>
      here(
        name === "feed_forward.hidden" ? operand.replace("self_attention.residual", "self_attention.norm") : operand,
      );
    found.push(renamed({ ...formula, name: here(formula.name), unit: here(`${formula.unit}.`).slice(0, -1) }, read));
    const { sum, norm } = NORMED[name] ?? {};
    if (sum !== undefined) found.push(renamed({ ...formula, ...sum }, here));
    if (norm !== undefined) found.push(renamed({ ...formula, ...norm }, here));
  }
  return found;
}

/** The same formula, reading other tensors. */
function renamed(formula: Formula, to: (name: string) => string): Formula {
  const fields = (rule: Readonly<Record<string, unknown>>): [string, unknown][] =>
    Object.entries(rule).map(([field, value]) => {
      if (isOperand(value)) return [field, { ...value, name: to(value.name) }];
      return [field, field === "terms" ? Object.fromEntries(fields(value as Record<string, unknown>)) : value];
    });
  return { ...formula, name: to(formula.name), rule: Object.fromEntries(fields(formula.rule)) as Rule };
}

const CHANNELS = "sentence token channel";

function normOf(sublayer: string): Partial<Formula> {
  const weights = `parameters.${BLOCK}${sublayer}.norm`;
  return {
    name: `${BLOCK}${sublayer}.norm`,
    axes: CHANNELS,
    rule: {
      rule: "layer_norm",
      x: { name: `${BLOCK}${sublayer}.residual`, axes: CHANNELS },
      weight: { name: `${weights}.weight`, axes: "channel" },
      bias: { name: `${weights}.bias`, axes: "channel" },
      ...{ over: "channel", epsilon: 1e-5 },
    },
    ...{ title: "Mean 0, variance 1", extra: true, mathml: "" },
    words: "norm = (residual − mean) / √(variance + 1e−05) over channel, times norm.weight, plus norm.bias",
  };
}

/** What follows a formula of the block where there are norms. */
const NORMED: Readonly<Record<string, { readonly sum?: Partial<Formula>; readonly norm?: Partial<Formula> }>> = {
  "self_attention.residual": { norm: normOf("self_attention") },
  "feed_forward.output": {
    sum: {
      name: `${BLOCK}feed_forward.residual`,
      axes: CHANNELS,
      rule: {
        rule: "add",
        terms: {
          stream: { name: `${BLOCK}self_attention.norm`, axes: CHANNELS },
          update: { name: `${BLOCK}feed_forward.output`, axes: CHANNELS },
        },
      },
      ...{ title: "What came in is added back", words: "residual = norm + output", mathml: "" },
    },
    norm: normOf("feed_forward"),
  },
};
