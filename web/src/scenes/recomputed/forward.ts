/** The attention of a run with the other mask: forward only where it looks both ways, both ways where it looks forward. */

import type { Fetch } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import { MOST_WORK, recompute } from "../../formulas/recompute.ts";
import { wholeTensor } from "../../formulas/whole.ts";
import { range } from "../../numbers/arithmetic.ts";
import { sizeOf, type Tensor } from "../../numbers/safetensors.ts";
import type { Formula, Rule } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";

const MASK = "forward_only";
/** So many weights of the first attention are worked out cell by cell. */
const MOST_CELLS = 200_000;

/** Whether the run's own attention looks back only. */
export function looksForward(s: Scout): boolean {
  return s.formula(s.of("may_look"))?.rule["causal"] === true;
}

/** Whether the run is small enough to be worked out again whole, with all weights at hand. */
export function small({ names: { run }, tokens, sentences }: Scout): boolean {
  return run.model.parameters * tokens * sentences <= MOST_WORK && Object.keys(run.left_out).length === 0;
}

interface Other {
  /** The first attention: it reads the text alone, so nothing else has to be worked out again. */
  readonly may_look: Tensor;
  readonly weights: Tensor;
  /** Every tensor of the run; null where it is too large. */
  readonly whole: ReadonlyMap<string, Tensor> | null;
}

const known = new WeakMap<Names, Other | null>();

/** Null where there is too much to be worked out here. */
export function otherWay(s: Scout): Other | null {
  let found = known.get(s.names);
  if (found === undefined) {
    found = computed(s);
    known.set(s.names, found);
  }
  return found;
}

function computed(s: Scout): Other | null {
  const { run } = s.names;
  const shape = s.tensor(s.of("weights")).shape;
  if (sizeOf(shape) > MOST_CELLS || s.formula(s.of("may_look"))?.rule["custom"] !== undefined) return null;
  const forward = looksForward(s);
  const [queries = 1, keys = 1] = shape.slice(2);
  const data = range(queries * keys, (flat) => Number(flat % keys <= Math.floor(flat / keys)));
  const mask: Tensor = { shape: [queries, keys], data };
  const [stack] = s.of("weights").split(".");
  const changed = (formula: Formula): Formula => {
    // Of a pair of stacks the other one has another number of tokens, and keeps its mask.
    if (!formula.name.startsWith(`${stack}.`) || !formula.name.includes(".self_attention.")) return formula;
    return { ...formula, rule: turned(formula.rule, forward) };
  };
  const found = new Map<string, Tensor>();
  const fetch: Fetch = (name) => (name === MASK ? mask : (found.get(name) ?? s.fetch(name)));
  for (const last of ["may_look", "masked", "weights"]) {
    const formula = s.formula(s.of(last));
    if (formula !== undefined) found.set(formula.name, wholeTensor(changed(formula), shape, fetch, run));
  }
  const [may_look, weights] = [found.get(s.of("may_look")), found.get(s.of("weights"))];
  if (may_look === undefined || weights === undefined) return null;
  if (!small(s)) return { may_look, weights, whole: null };
  const given: Fetch = (name) => (name === MASK ? mask : s.fetch(name));
  return { may_look, weights, whole: recompute({ ...run, formulas: run.formulas.map(changed) }, given) };
}

/** The rule with the other mask: what may be looked at also has to stand before, or no longer has to. */
function turned(rule: Rule, forward: boolean): Rule {
  if (forward) return "causal" in rule ? { ...rule, causal: false } : rule;
  return rule.rule === "may_look" ? { ...rule, custom: { name: MASK, axes: "query key" } } : rule;
}
