/** What tensors, axes and cells are called: by the words of the texts, wherever there are any. */

import { range } from "../numbers/arithmetic.ts";
import { written } from "../numbers/letters.ts";
import { axisNames, readAxes } from "../record/axes.ts";
import type { Formula, Operand, RunRecord, Side } from "../record/record.ts";
import { heard, say } from "../words/say.ts";
import { operandsOf } from "./evaluator.ts";

/** What an index is called; `hidden` = a masked word, which the model did not see. */
export interface Label {
  readonly text: string;
  readonly hidden: boolean;
}

export type Role = "query" | "key" | "value" | "attention" | "residual" | "hidden";

const ROLES: Readonly<Record<string, Role>> = {
  query: "query",
  query_rotated: "query",
  key: "key",
  key_rotated: "key",
  value: "value",
  mixed: "value",
  scores: "attention",
  scaled: "attention",
  biased: "attention",
  may_look: "attention",
  masked: "attention",
  weights: "attention",
  probabilities: "hidden",
};

export class Names {
  readonly run: RunRecord;
  readonly formulas: ReadonlyMap<string, Formula>;
  readonly #answers = new Map<string, string>();
  readonly #readers = new Map<string, [Formula, Operand][]>();
  /** The words met so far: a picture asks for the word of each of its cells. */
  readonly #words: Readonly<Record<Side, Label[][]>> = { inputs: [], decoder_inputs: [] };

  constructor(run: RunRecord) {
    this.run = run;
    this.formulas = new Map(run.formulas.map((formula) => [formula.name, formula]));
    for (const [sentence, token, word] of run.words.answers) this.#answers.set(`${sentence} ${token}`, word);
    for (const formula of run.formulas) {
      for (const [, operand] of operandsOf(formula.rule)) {
        const known = this.#readers.get(operand.name);
        if (known === undefined) this.#readers.set(operand.name, [[formula, operand]]);
        else known.push([formula, operand]);
      }
    }
  }

  /** Whether the run has a tensor, a fact or a weight of this name. */
  knows(name: string): boolean {
    return this.formulas.has(name) || name in this.run.facts || name in this.run.weights;
  }

  /** The formulas that read a tensor, each with how it reads it. */
  readers(name: string): readonly [Formula, Operand][] {
    return this.#readers.get(name) ?? [];
  }

  /** The names of a tensor's axes; a weight's are those by which its first reader knows it. */
  axes(name: string): string[] {
    const formula = this.formulas.get(name);
    if (formula !== undefined) return axisNames(formula.axes);
    const fact = this.run.facts[name];
    if (fact !== undefined) return [...fact.axes];
    const read = this.readers(name)[0];
    const dims = this.run.weights[name]?.length ?? 0;
    if (read === undefined) return range(dims, (axis) => say`axis ${axis}`);
    return readAxes(read[1].axes).map((step) => (step.kind === "group" ? `${step.outer} · ${step.inner}` : step.name));
  }

  role(name: string): Role {
    // A weight has the colour of what is made with it.
    const steps = name.split(".");
    const last = steps[0] === "parameters" ? steps.at(-2) : steps.at(-1);
    return ROLES[last ?? ""] ?? "residual";
  }

  /** Whether the tensor counts masked words along this axis in red: those that nothing has filled yet. */
  hides(name: string, axis: string): boolean {
    const last = lastOf(name);
    const early = ["word", "sum"].includes(last) || ["query", "key", "value"].includes(last.replace("_rotated", ""));
    if (axis === "key") return ["scores", "scaled", "biased", "masked", "weights", "may_look"].includes(last) || early;
    return (axis === "token" || axis === "query") && (early || name.startsWith("inputs."));
  }

  /** The side whose words an axis counts. */
  side(name: string, axis: string): "inputs" | "decoder_inputs" | null {
    const formula = this.formulas.get(name);
    if (axis === "key") return formula?.keys ?? sideOf(name);
    return axis === "token" || axis === "query" ? (formula?.tokens ?? sideOf(name)) : null;
  }

  /** A word of a text; a masked one is called by its answer. */
  word(side: Side, sentence: number, token: number): Label {
    const rows = this.#words[side];
    const row = rows[sentence] ?? [];
    rows[sentence] = row;
    row[token] ??= this.#word(side, sentence, token);
    return row[token];
  }

  #word(side: Side, sentence: number, token: number): Label {
    const row = this.run.words[side][sentence];
    const word = row === undefined ? say`token ${token}` : (row[token] ?? say`padding`);
    const answer = side === "inputs" ? this.#answers.get(`${sentence} ${token}`) : undefined;
    return { text: unmarked(answer ?? word), hidden: answer !== undefined };
  }

  /** What an index of an axis is called. */
  label(name: string, axis: string, index: number, sentence: number): Label {
    if (axis in (this.run.shared[name] ?? {})) return { text: say`all`, hidden: false };
    const side = this.side(name, axis);
    if (side !== null) return this.word(side, sentence, index);
    if (axis === "place") {
      const [row, token] = this.run.places[index] ?? [0, 0];
      return this.word(this.formulas.get(name)?.tokens ?? "inputs", row, token);
    }
    if (axis.includes(" · ")) return { text: this.grouped(name, axis, index), hidden: false };
    const listed = axis === "row" && !name.endsWith("embed.word.weight") ? undefined : this.listed(axis)[index];
    if (listed !== undefined) return { text: unmarked(listed), hidden: false };
    return { text: String(index), hidden: false };
  }

  /** A step of an axis that holds heads of some channels each: `head 1, channel 3`. */
  private grouped(name: string, axis: string, index: number): string {
    const size = this.run.weights[name]?.[this.axes(name).indexOf(axis)] ?? 1;
    const steps = readAxes(this.readers(name)[0]?.[1].axes ?? "");
    const step = steps.find((each) => each.kind === "group");
    const inner = step?.kind === "group" ? size / step.count : size;
    const [of = "", within = ""] = axis.split(" · ");
    return `${spoken(of)} ${Math.floor(index / inner)}, ${spoken(within)} ${index % inner}`;
  }

  listed(axis: string): readonly string[] {
    const words = this.run.words;
    if (axis === "vocabulary" || axis === "row") return words.vocabulary;
    return axis === "label" ? words.labels : axis === "candidate" ? words.candidates : [];
  }

  /** A cell in words: `head 1, likes → She`; only along `some` axes, where they are given. */
  cell(name: string, cell: readonly number[], some?: readonly string[]): string {
    const axes = this.axes(name);
    const left = (axis: string): boolean => some !== undefined && !some.includes(axis);
    const sentence = cell[axes.indexOf("sentence")] ?? 0;
    const shared = this.run.shared[name] ?? {};
    const word = (axis: string): string => {
      return quoted(this.label(name, axis, cell[axes.indexOf(axis)] ?? 0, sentence).text);
    };
    const parts: string[] = [];
    const several = Math.max(this.run.words.inputs.length, this.run.words.decoder_inputs.length) > 1;
    for (const axis of axes) {
      if (left(axis) || axis in shared || axis === "key" || (axis === "sentence" && !several)) continue;
      if (axis === "query" && axes.includes("key") && !left("key")) parts.push(`${word("query")} → ${word("key")}`);
      else if (/^(token|query|place|vocabulary|label|candidate)$| · /.test(axis)) parts.push(word(axis));
      else parts.push(`${spoken(axis)} ${word(axis)}`);
    }
    const paired = axes.includes("query") && !("query" in shared) && !left("query");
    if (axes.includes("key") && !left("key") && !paired) parts.push(word("key"));
    return parts.join(", ");
  }

  /** What a tensor is called in a sentence: `query`, `word + position`, `query weight`. */
  title(name: string): string {
    const formula = this.formulas.get(name);
    const last = lastOf(name);
    if (formula?.rule.rule === "add" && last === "sum")
      return Object.keys(formula.rule["terms"] ?? {})
        .map(heard)
        .join(" + ");
    if (name.startsWith("parameters.")) {
      const of = heard((name.split(".").at(-2) ?? "").replaceAll("_", " "));
      return last === "weight" ? say`${of} weight` : last === "bias" ? say`${of} bias` : `${of} ${last}`;
    }
    const title = TITLES[last] ?? heard(last.replaceAll("_", " "));
    if (last === "output") return name.includes("feed_forward") ? say`feed-forward output` : say`attention output`;
    if (!name.includes(".cross_attention.")) return title;
    return last === "weights" ? say`cross-attention weights` : say`cross-attention ${title}`;
  }

  /** Where a tensor stands: `encoder block 0, self-attention`. */
  place(name: string): string {
    const steps = name.replace(/^parameters\./, "").split(".");
    const [side, kind, index, part] = steps;
    if (name in this.run.facts) return say`given with the text`;
    if (kind === "blocks") {
      const within = PARTS[part ?? ""];
      return within === undefined
        ? say`${heard(side ?? "")} block ${index}`
        : say`${heard(side ?? "")} block ${index}, ${within}`;
    }
    if (side === "encoder" || side === "decoder")
      return kind === "embed" ? say`${heard(side ?? "")} embedding` : heard(side);
    return heard((side ?? "").replace("_", " "));
  }

  /** What a part of the model is called. */
  unit(unit: string): string {
    const [side, kind, index] = unit.split(".");
    const several = this.run.model.stacks.length > 1;
    if (kind === "blocks") return several ? say`${heard(side ?? "")} block ${index}` : say`block ${index}`;
    if (kind === "embed") return several ? say`${heard(side ?? "")} embedding` : say`embedding`;
    if (unit === "head") return say`output layer`;
    const part = heard((kind ?? side ?? "").replace("_", " "));
    return several && kind !== undefined ? `${heard(side ?? "")} ${part}` : part;
  }
}

const PARTS: Readonly<Record<string, string>> = {
  self_attention: say`self-attention`,
  cross_attention: say`cross-attention`,
  feed_forward: say`feed-forward`,
};

const TITLES: Readonly<Record<string, string>> = {
  weights: say`attention weights`,
  may_look: say`may look`,
  mixed: say`mixed values`,
  merged: say`heads joined`,
  residual: say`input added`,
  activated: say`activated`,
  hidden: say`widened`,
  query_rotated: say`query, rotated`,
  key_rotated: say`key, rotated`,
};

function sideOf(name: string): "inputs" | "decoder_inputs" {
  return name.startsWith("decoder") ? "decoder_inputs" : "inputs";
}

/** What an axis is called in a sentence. */
export function spoken(axis: string): string {
  return axis
    .split(" · ")
    .map((each) => heard(each.replace("_", "–").replace("_", " ")))
    .join(" · ");
}

/** A comma among commas is distinguished from them. */
export function quoted(text: string): string {
  return /^\p{P}$/u.test(text) ? say`“${text}”` : text;
}

export function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** A token as it is written, without its tokenizer's mark for the blank before it. */
export function unmarked(token: string): string {
  return written(token.length > 1 && (token.startsWith("Ġ") || token.startsWith("▁")) ? token.slice(1) : token);
}

/** `[CLS]`, `</s>`, `<|end|>`; a byte, a hidden or an unknown word is none. */
export function isMark(token: string): boolean {
  return /^(\[[A-Z]+\]|<[^<>]+>)$/.test(token) && !/^([[<](mask|unk)[\]>]|<0x[0-9a-f]{2}>)$/i.test(token);
}
