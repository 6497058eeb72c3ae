/** A run with its changes as Python: code that makes it again. */

import type { Step } from "./changes.ts";
import { outputs } from "./changes.ts";

export interface Recipe {
  /** Lines after which `model` is the model. */
  readonly loads: readonly string[];
  readonly texts: readonly string[];
  readonly seconds: readonly string[] | null;
  readonly choices: readonly string[] | null;
  /** What the decoder reads, as tokens. */
  readonly targets?: readonly (readonly number[])[] | null;
  readonly steps: readonly Step[];
  /** The number in hand, whose explanation is printed at the end. */
  readonly shown: { readonly name: string; readonly axes: readonly string[]; readonly cell: readonly number[] } | null;
}

export function pythonOf({ loads, texts, seconds, choices, targets, steps, shown }: Recipe): string {
  const given = [listed(texts)];
  if (seconds !== null) given.push(listed(seconds));
  if (choices !== null) given.push(`choices=[${choices.map(quoted).join(", ")}]`);
  if (targets != null) given.push(`target_ids=[${targets.map((ids) => `[${ids.join(", ")}]`).join(", ")}]`);
  const lines = [...loads, `trace = model.trace(${given.join(", ")})`];
  if (steps.some(({ kind }) => kind === "patch")) lines.push("# other: the trace of run A, made in the same way");
  if (steps.length > 0) {
    lines.push("trace = trace.intervene(", ...steps.map((step) => `    ${stepOf(step)},`), ")");
  }
  if (shown !== null) lines.push(`print(trace.explain(${quoted(shown.name)}, ${cellOf(shown.axes, shown.cell)}))`);
  return `${lines.join("\n")}\n`;
}

function cellOf(axes: readonly string[], cell: readonly number[]): string {
  return `{${axes.map((axis, place) => `${quoted(axis)}: ${cell[place] ?? 0}`).join(", ")}}`;
}

function listed(texts: readonly string[]): string {
  const [only] = texts;
  return texts.length === 1 && only !== undefined ? quoted(only) : `[${texts.map(quoted).join(", ")}]`;
}

/** One intervention, by the name that says most. */
export function stepOf(step: Step): string {
  switch (step.kind) {
    case "change_word":
      return `gf.ChangeWord(${[step.token, step.id].map(value).join(", ")}${where(step)})`;
    case "mask_word":
      return `gf.MaskWord(${value(step.token)}${step.mask_id == null ? "" : `, ${value(step.mask_id)}`}${where(step)})`;
    case "allow":
    case "forbid": {
      const head = step.head == null ? "" : `, head=${step.head}`;
      const sentence = step.sentence ? `, sentence=${step.sentence}` : "";
      return `gf.${step.kind}(${quoted(step.attention)}, ${value(step.query)}, ${value(step.key)}${head}${sentence})`;
    }
    case "replace": {
      const cell = step.cell ?? [];
      const off = step.by === 0 ? "zero" : step.by === "mean" ? "average" : "";
      const [attention, last] = [step.where.replace(/\.mixed$/, ""), cell.at(-1)];
      if (off !== "" && attention !== step.where && cell.length === 2 && cell[0] === null && last != null)
        return `gf.${off}_head(${quoted(attention)}, ${last})`;
      const layer = step.where.replace(/\.output$/, "").replace(/\.\*$/, "");
      if (off !== "" && cell.length === 0 && outputs(layer) === step.where) return `gf.${off}_layer(${quoted(layer)})`;
      const by = step.by === "mean" ? quoted("mean") : String(step.by);
      if (step.by === "mean" || cell.length === 0) return `gf.Replace(${quoted(step.where)}, ${by}, ${part(cell)})`;
      return `gf.set_number(${quoted(step.where)}, ${part(cell)}, ${by})`;
    }
    case "patch":
      return `gf.patch(other, ${quoted(step.where)}${step.cell?.length ? `, ${part(step.cell)}` : ""})`;
  }
}

function where({ sentence, where: side }: { sentence?: number; where?: string }): string {
  return (sentence ? `, sentence=${sentence}` : "") + (side === "decoder_inputs" ? `, where=${quoted(side)}` : "");
}

function part(cell: readonly (number | null)[]): string {
  return tuple(cell.map((index) => (index === null ? "None" : String(index))));
}

function tuple(parts: readonly string[]): string {
  return parts.length === 1 ? `(${parts[0]},)` : `(${parts.join(", ")})`;
}

function value(place: number | string): string {
  return typeof place === "number" ? String(place) : quoted(place);
}

/** A text as a Python literal. JSON's escapes are Python's but for surrogates, which JSON.stringify leaves as letters. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/\u007f/g, "\\x7f");
}
