/** What a number of the training is called. */

import type { Names } from "../../formulas/names.ts";
import { LOSS } from "../../formulas/program.ts";
import { say } from "../../words/say.ts";
import { type Lesson, shown } from "./lesson.ts";
import { cellOf, titleOf } from "./pictures.tsx";

/** The weight at a place among all of them. */
export function nameAt(now: Lesson, flat: number): string {
  for (const [name, { start, size }] of shown(now).stretches) {
    if (flat >= start && flat < start + size) return calledAt(now, name, flat - start);
  }
  return "";
}

/** A number by its tensor and its cell: `query weight, head · channel 0·2, input 3`. */
export function calledAt(now: Lesson, name: string, at: number): string {
  if (name === LOSS) return say`the loss`;
  const cell = cellIn(now, name, at);
  return `${titleIn(now.names, name)}${cell === "" ? "" : `, ${cell}`}`;
}

export function titleIn(names: Names, name: string): string {
  return name === LOSS
    ? say`the loss`
    : name.startsWith("parameters.")
      ? say`${titleOf(name)} weight`
      : names.title(name);
}

export function cellIn(now: Lesson, name: string, at: number): string {
  const shape = shown(now).fetch(name)?.shape ?? [];
  return now.names.cell(name, cellOf(shape, at));
}
