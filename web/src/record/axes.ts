/**
 * Tensors whose axes have names, and how a formula reads one as another's operand: see `glassformer/look/formulas/named.py`.
 *
 *     channel          an axis of that name
 *     head/2           each step of this axis serves two heads
 *     (head:2 channel) one axis that holds 2 heads of some channels each
 *     <place>          two axes, sentence and token, read at the chosen places
 */

import type { Operand } from "./record.ts";

export type Cell = Readonly<Record<string, number>>;

export type Step =
  | { readonly kind: "axis"; readonly name: string; readonly serves: number }
  | { readonly kind: "group"; readonly outer: string; readonly count: number; readonly inner: string }
  | { readonly kind: "place"; readonly name: string };

const STEP = /\((\w+):(\d+) (\w+)\)|<(\w+)>|([a-z_]+)(?:\/(\d+))?/g;
const read = new Map<string, readonly Step[]>();

/** The steps of an axes line. */
export function readAxes(axes: string): readonly Step[] {
  const known = read.get(axes);
  if (known !== undefined) return known;
  const steps = [...axes.matchAll(STEP)].map((found): Step => {
    const [, outer, count, inner, place, name, serves] = found;
    if (outer !== undefined && inner !== undefined) return { kind: "group", outer, count: Number(count), inner };
    if (place !== undefined) return { kind: "place", name: place };
    return { kind: "axis", name: name ?? "", serves: Number(serves ?? 1) };
  });
  read.set(axes, steps);
  return steps;
}

/** The names in an axes line, in order. */
export function axisNames(axes: string): string[] {
  return readAxes(axes).flatMap((step) => (step.kind === "group" ? [step.outer, step.inner] : [step.name]));
}

/** The length of each named axis of an operand, for a tensor of this shape. */
export function namedSizes(operand: Operand, shape: readonly number[], places: number): Map<string, number> {
  const sizes = new Map<string, number>();
  let axis = 0;
  for (const step of readAxes(operand.axes)) {
    const size = shape[axis] ?? 1;
    if (step.kind === "group") {
      sizes.set(step.outer, step.count).set(step.inner, size / step.count);
      axis += 1;
    } else if (step.kind === "place") {
      sizes.set(step.name, places);
      axis += 2;
    } else {
      sizes.set(step.name, step.serves > 1 && size > 1 ? size * step.serves : size);
      axis += 1;
    }
  }
  return sizes;
}

/** The index of the operand's element that this cell of the formula reads. A size of 1 is shared by all. */
export function indexOf(
  operand: Operand,
  shape: readonly number[],
  cell: Cell,
  scoredAt: readonly number[] | null,
): number[] {
  const index: number[] = [];
  for (const step of readAxes(operand.axes)) {
    const size = shape[index.length] ?? 1;
    if (step.kind === "axis") {
      const place = size === 1 ? 0 : along(operand, cell, step.name);
      index.push(step.serves === 1 ? place : Math.floor(place / step.serves));
    } else if (step.kind === "group") {
      index.push(along(operand, cell, step.outer) * (size / step.count) + along(operand, cell, step.inner));
    } else {
      const flat = scoredAt?.[along(operand, cell, step.name)] ?? 0;
      const tokens = shape[index.length + 1] ?? 1;
      index.push(Math.floor(flat / tokens), flat % tokens);
    }
  }
  return index;
}

function along(operand: Operand, cell: Cell, name: string): number {
  const found = cell[name];
  if (found === undefined) throw new Error(`${operand.name} is read along ${name}, which the cell lacks`);
  return found;
}

/** The axis of the tensor that a step along a named axis moves in, and by how much; null where steps differ. */
export function stepAlong(
  operand: Operand,
  shape: readonly number[],
  over: string,
): { readonly axis: number; readonly by: number } | null {
  let axis = 0;
  for (const step of readAxes(operand.axes)) {
    const size = shape[axis] ?? 1;
    if (step.kind === "group" && (step.outer === over || step.inner === over)) {
      return { axis, by: step.outer === over ? size / step.count : 1 };
    }
    if (step.kind === "axis" && step.name === over) {
      return step.serves === 1 || size === 1 ? { axis, by: size === 1 ? 0 : 1 } : null;
    }
    if (step.kind === "place" && step.name === over) return null;
    axis += step.kind === "place" ? 2 : 1;
  }
  return null;
}
