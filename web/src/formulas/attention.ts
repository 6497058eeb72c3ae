/** One attention as the formulas of the run tell it: its stages from score to weight, its values, its peers in other blocks. */

import type { Formula, Operand, Side } from "../record/record.ts";
import { isOperand, operandsOf } from "./evaluator.ts";
import type { Names } from "./names.ts";

export interface Attention {
  /** The tensor of its weights [sentence, head, query, key]. */
  readonly weights: string;
  /** The tensors [sentence, head, query, key] from the scores to the weights, in the order of computation. */
  readonly stages: readonly string[];
  /** What is added on the way, such as a bias by distance: the stage that it goes into, and its tensor. */
  readonly added: ReadonlyMap<string, string>;
  /** 1 where a query may look at a key. */
  readonly mayLook: string | null;
  /** The sum of the values, and how it reads them. */
  readonly mixed: Formula | null;
  readonly values: Operand | null;
  readonly queries: Side;
  readonly keys: Side;
}

/** A head as the address calls it: its attention's weights and its number there. */
export interface Chosen {
  readonly id: string;
  readonly weights: string;
  readonly head: number;
}

export function isAttention(formula: Formula | undefined): formula is Formula {
  return formula?.rule.rule === "softmax" && formula.rule["over"] === "key" && formula.name.endsWith(".weights");
}

/** The attention of these weights; null where the name is not that of attention weights. */
export function attentionOf(weights: string, names: Names): Attention | null {
  const last = names.formulas.get(weights);
  if (!isAttention(last)) return null;
  const path = pathOf(weights);
  const stages: string[] = [];
  const added = new Map<string, string>();
  let mayLook: string | null = null;
  let formula = names.formulas.get(weights);
  while (formula !== undefined && !stages.includes(formula.name)) {
    stages.unshift(formula.name);
    const { rule, axes } = formula as Formula;
    const looks = rule["may_look"];
    if (isOperand(looks)) mayLook = looks.name;
    const square = operandsOf(rule).filter(([role, operand]) => operand.axes === axes && role !== "may_look");
    // The stage before is this attention's own; a bias is shared by several blocks.
    const before = square.find(([, { name }]) => pathOf(name) === path)?.[1].name;
    for (const [, { name }] of square) if (name !== before) added.set(formula.name, name);
    formula = before === undefined ? undefined : names.formulas.get(before);
  }
  const mixed = names.readers(weights).find(([reader]) => reader.rule.rule === "weighted_sum")?.[0] ?? null;
  const read = mixed === null ? [] : operandsOf(mixed.rule).map(([, operand]) => operand);
  const values = read.find((operand) => operand.name !== weights) ?? null;
  return { weights, stages, added, mayLook, mixed, values, queries: last.tokens, keys: last.keys };
}

/** The same attention in every block of its stack, in their order. */
export function peersOf(weights: string, names: Names): string[] {
  const kind = kindOf(weights);
  return names.run.formulas.flatMap((formula) => {
    return isAttention(formula) && kindOf(formula.name) === kind ? [formula.name] : [];
  });
}

function kindOf(name: string): string {
  return name.replace(/\.\d+\./, ".*.");
}

/** The number of the block that a tensor stands in. */
export function blockOf(name: string): string {
  return /\.(\d+)\./.exec(name)?.[1] ?? "0";
}

function pathOf(name: string): string {
  return name.slice(0, name.lastIndexOf("."));
}

/** The attention weights that a tensor is part of: of its query, its scores, its query's weight …; null elsewhere. */
export function weightsNear(name: string, names: Names): string | null {
  const path = /^(?:parameters\.)?(.*_attention)\./.exec(name)?.[1];
  const weights = `${path}.weights`;
  return path !== undefined && isAttention(names.formulas.get(weights)) ? weights : null;
}

/** The cell [sentence, head, query, key] of the weights that a cell of a tensor near them stands nearest to. */
export function cellNear(name: string, cell: readonly number[], names: Names): number[] {
  const axes = names.axes(name);
  const along = (...of: readonly string[]): number | undefined => {
    const place = axes.findIndex((axis) => of.includes(axis));
    return place < 0 ? undefined : cell[place];
  };
  const query = along("query", "token") ?? along("key") ?? 0;
  const head = (along("head", "key_value_head") ?? 0) * readersOfEach(name, names);
  return [along("sentence") ?? 0, head, query, along("key") ?? query];
}

/** How many heads read each head of a tensor: several where keys and values are shared, the first of them at its number times this. */
export function readersOfEach(name: string, names: Names): number {
  if (!names.axes(name).includes("key_value_head")) return 1;
  const values = attentionOf(weightsNear(name, names) ?? "", names)?.values;
  return Number(/head\/(\d+)/.exec(values?.axes ?? "")?.[1] ?? 1);
}
