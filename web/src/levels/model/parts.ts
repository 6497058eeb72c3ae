/** The parts of a model in the order of computation, with their weights and with what flows between them. */

import { operandsOf } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import { sizeOf } from "../../numbers/safetensors.ts";
import { grouped } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";

/** What weights are used for. */
export const KINDS = ["table", "attention", "forward", "rest"] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  table: say`tables of vectors`,
  attention: say`attention`,
  forward: say`feed-forward`,
  rest: say`other`,
};

export interface Part {
  readonly unit: string;
  /** Where it is drawn: in a stack, or after the last one. */
  readonly side: "encoder" | "decoder" | "end";
  /** The weights that no part before has used. */
  readonly weights: number;
  readonly kinds: Readonly<Record<Kind, number>>;
  /** The tables that a part before uses too: tied weights are counted there. */
  readonly tied: readonly string[];
  /** The parts that it reads, with the tensor that it reads of each. */
  readonly reads: ReadonlyMap<string, string>;
  /** The tensor that it ends with. */
  readonly last: string;
  readonly attentions: readonly string[];
}

export function partsOf(names: Names): Part[] {
  const { formulas, weights } = names.run;
  const counted = new Map<string, string>();
  const units = [...new Set(formulas.map((formula) => formula.unit))];
  const parts = units.map((unit): Part => {
    const own = formulas.filter((formula) => formula.unit === unit);
    const kinds = { table: 0, attention: 0, forward: 0, rest: 0 };
    const [tied, reads] = [new Set<string>(), new Map<string, string>()];
    for (const name of own.flatMap((formula) => operandsOf(formula.rule).map(([, operand]) => operand.name))) {
      const other = names.formulas.get(name)?.unit;
      if (other !== undefined && other !== unit) reads.set(other, name);
      const shape = weights[name];
      if (shape === undefined) continue;
      const known = counted.get(name);
      if (known === undefined) {
        counted.set(name, unit);
        kinds[kindOf(name)] += sizeOf(shape);
      } else if (known !== unit) tied.add(name);
    }
    const ends = own.findLast(({ name }) => names.readers(name).some(([reader]) => reader.unit !== unit)) ?? own.at(-1);
    return {
      unit,
      side: unit.startsWith("encoder") ? "encoder" : unit.startsWith("decoder") ? "decoder" : "end",
      weights: KINDS.reduce((sum, kind) => sum + kinds[kind], 0),
      kinds,
      tied: [...tied],
      reads,
      last: ends?.name ?? "",
      attentions: own.filter(({ name }) => name.endsWith("_attention.weights")).map(({ name }) => name.slice(0, -8)),
    };
  });
  // What reads nothing but positions is no step on the way of the text: it stands before the embedding.
  const aside = (part: Part): boolean => part.unit.endsWith("relative_bias");
  return parts.sort((one, two) => {
    return one.side === two.side && (aside(one) || aside(two)) ? Number(aside(two)) - Number(aside(one)) : 0;
  });
}

/** The weights that no formula of this run reads: those of a head that was not asked for. */
export function unread(parts: readonly Part[], names: Names): number {
  return names.run.model.parameters - parts.reduce((sum, part) => sum + part.weights, 0);
}

function kindOf(name: string): Kind {
  if (name.includes("_attention.") || name.includes("relative_bias")) return "attention";
  if (name.includes(".feed_forward.")) return "forward";
  return name.includes(".embed.") && !name.includes(".norm.") ? "table" : "rest";
}

/** The part that the decoder's blocks look back at; undefined where there is none. */
export function memoryOf(parts: readonly Part[]): Part | undefined {
  const crossing = parts.find(({ attentions }) => attentions.some((name) => name.endsWith("cross_attention")));
  return parts.find(({ unit, side }) => side === "encoder" && crossing?.reads.has(unit) === true);
}

/** 14,352,384 as `14.4 M`. */
export function rough(count: number): string {
  if (count < 10_000) return grouped(count);
  const [size, unit] = count < 1e6 ? [count / 1e3, "k"] : count < 1e9 ? [count / 1e6, "M"] : [count / 1e9, "G"];
  return `${size.toPrecision(3).replace(/\.0+$/, "")} ${unit}`;
}
