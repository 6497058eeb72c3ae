/** Numbers that are set by hand: what Python's interventions do to a tensor (`look/trace/interventions.py`). */

import { type Fetch, isOperand } from "../../formulas/evaluator.ts";
import type { Hand } from "../../formulas/recompute.ts";
import { range } from "../../numbers/arithmetic.ts";
import { sizeOf, type Tensor } from "../../numbers/safetensors.ts";
import { axisNames } from "../../record/axes.ts";
import type { Formula, RunRecord } from "../../record/record.ts";
import { partOf, touches } from "../../record/set_by.ts";
import { say } from "../../words/say.ts";
import { formatChanges, type Step } from "./changes.ts";

type Visibility = Extract<Step, { kind: "allow" | "forbid" }>;
type Replace = Extract<Step, { kind: "replace" | "patch" }>;

/** The steps as changes of the tensors of a run. */
export function handOf(steps: readonly Step[], run: RunRecord): Hand {
  const formulas = new Map(run.formulas.map((formula) => [formula.name, formula]));
  return {
    sign: (name) => formatChanges(steps.filter((step) => touches(step, name))),
    touch(name, tensor, fetch) {
      let found = tensor;
      for (const step of steps) {
        if (!touches(step, name)) continue;
        if (step.kind === "allow" || step.kind === "forbid") found = looked(step, found, fetch);
        else if (step.kind === "replace") found = replaced(step, found, formulas.get(name), fetch);
      }
      return found;
    },
  };
}

/** [B or 1, 1, Q or 1, K] to the shape of the scores, [B, H, Q, K], with one cell set. */
function looked(step: Visibility, tensor: Tensor, fetch: Fetch): Tensor {
  const shape = fetch(`${step.attention}.scores`)?.shape ?? tensor.shape;
  const data = expanded(tensor, shape);
  forEachIn(shape, partOf(step), (flat) => {
    data[flat] = step.kind === "allow" ? 1 : 0;
  });
  return { shape, data };
}

function expanded(tensor: Tensor, shape: readonly number[]): Float64Array {
  let places = [0];
  shape.forEach((size, axis) => {
    const own = tensor.shape[axis] ?? 1;
    const stride = own === 1 ? 0 : sizeOf(tensor.shape.slice(axis + 1));
    places = places.flatMap((before) => range(size, (index) => before + index * stride));
  });
  return Float64Array.from(places, (place) => tensor.data[place] ?? 0);
}

function replaced(step: Replace, tensor: Tensor, formula: Formula | undefined, fetch: Fetch): Tensor {
  if (step.kind === "patch" || formula === undefined) return tensor;
  const data = Float64Array.from(tensor.data);
  const part = partOf(step);
  if (step.by === "mean") {
    for (const [flat, mean] of means(tensor, part, formula, fetch)) data[flat] = mean;
  } else {
    const by = Number(step.by);
    forEachIn(tensor.shape, part, (flat) => {
      data[flat] = by;
    });
  }
  return { shape: tensor.shape, data };
}

/** The mean over the sentences and their tokens, padding left out, at every place of the part. */
function means(tensor: Tensor, part: readonly (number | null)[], formula: Formula, fetch: Fetch): Map<number, number> {
  const axes = axisNames(formula.axes);
  const counted = axes.findIndex((axis) => ["token", "query", "key"].includes(axis));
  const side = !axes.includes("query") && axes.includes("key") ? formula.keys : formula.tokens;
  const real = fetch(`${side}.real`);
  const tokens = tensor.shape[counted] ?? 1;
  const strides = tensor.shape.map((_, axis) => sizeOf(tensor.shape.slice(axis + 1)));
  const groups = new Map<string, { sum: number; count: number; places: number[] }>();
  forEachIn(tensor.shape, part, (flat) => {
    const cell = strides.map((stride, axis) => Math.floor(flat / stride) % (tensor.shape[axis] ?? 1));
    const [sentence = 0, token = 0] = [cell[0], cell[counted]];
    const key = cell.filter((_, axis) => axis !== 0 && axis !== counted).join();
    const group = groups.get(key) ?? { sum: 0, count: 0, places: [] };
    groups.set(key, group);
    group.places.push(flat);
    if (real !== undefined && real.data[sentence * tokens + token] === 0) return;
    group.sum += tensor.data[flat] ?? 0;
    group.count += 1;
  });
  const found = new Map<number, number>();
  for (const { sum, count, places } of groups.values()) {
    for (const place of places) found.set(place, sum / count);
  }
  return found;
}

/** Every flat place of a part of a tensor. */
function forEachIn(shape: readonly number[], part: readonly (number | null)[], visit: (flat: number) => void): void {
  let places = [0];
  shape.forEach((size, axis) => {
    const stride = sizeOf(shape.slice(axis + 1));
    const index = part[axis] ?? null;
    places = places.flatMap((before) => {
      if (index !== null) return [before + index * stride];
      return range(size, (each) => before + each * stride);
    });
  });
  for (const place of places) visit(place);
}

/** What is wrong with a step for this run, in a sentence; null where it fits. */
export function misfit(
  step: Step,
  run: RunRecord,
  shapeOf: (name: string) => readonly number[] | undefined,
): string | null {
  if (step.kind === "patch") return say`A patch from another run cannot be made on this page.`;
  if (step.kind === "change_word" || step.kind === "mask_word") {
    const side = step.where ?? "inputs";
    const [sentences = 0, tokens = 0] = shapeOf(`${side}.ids`) ?? [];
    if ((step.sentence ?? 0) >= sentences || Number(step.token) >= tokens)
      return say`The text has no such word to change.`;
    const table = run.formulas.flatMap(({ rule }) => {
      const [index, rows] = [rule["index"], rule["table"]];
      return isOperand(index) && isOperand(rows) && index.name === `${side}.ids`
        ? (run.weights[rows.name]?.[0] ?? [])
        : [];
    })[0];
    const id = step.kind === "change_word" ? Number(step.id) : Number(step.mask_id ?? 0);
    return table !== undefined && id >= table ? say`The vocabulary has ${table} words, and no word ${id}.` : null;
  }
  const formula = run.formulas.find((each) => touches(step, each.name));
  if (formula === undefined) {
    const name = step.kind === "replace" ? step.where : step.attention;
    return step.kind === "replace" ? say`This model has no tensor ${name}.` : say`This model has no attention ${name}.`;
  }
  if (["loss", "choice"].includes(formula.unit))
    return say`${formula.name} is worked out after the run: it cannot be set.`;
  const looks = step.kind === "allow" || step.kind === "forbid";
  const shape = shapeOf(looks ? formula.name.replace(/may_look$/, "scores") : formula.name);
  const part = partOf(step);
  const inside = shape === undefined || part.every((at, axis) => at === null || at < (shape[axis] ?? 0));
  if (!inside || part.length > (shape?.length ?? 8))
    return say`There is no such cell of ${formula.name}: it has ${shape?.join(" × ")}.`;
  if (step.kind === "replace" && step.by === "mean") {
    const left = axisNames(formula.axes).filter((_, axis) => (part[axis] ?? null) === null);
    const over = left[0] === "sentence" && ["token", "query", "key"].includes(left[1] ?? "");
    if (!over)
      return say`A mean is taken over the sentences and words of a tensor; ${formula.name} cannot be averaged so.`;
  }
  return null;
}
