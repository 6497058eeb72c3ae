/** Which cells the changes by hand set: where a cell is set, its formula no longer holds for it. */

import type { Step } from "./step.ts";

/** Whether a step sets this tensor, or a part of it. */
export function touches(step: Step, name: string): boolean {
  if (step.kind === "allow" || step.kind === "forbid") return name === `${step.attention}.may_look`;
  return (step.kind === "replace" || step.kind === "patch") && fits(name, step.where);
}

/** As Python's fnmatch, without its brackets: `*` stands for any letters, `?` for one. */
function fits(name: string, pattern: string): boolean {
  if (!/[*?]/.test(pattern)) return name === pattern;
  const plain = pattern
    .replace(/[.+^${}()|[\]\\]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${plain}$`).test(name);
}

/** The last step that sets this cell; null where its formula holds. */
export function setBy(steps: readonly Step[], name: string, cell: readonly number[]): Step | null {
  return (
    steps.findLast((step) => {
      if (!touches(step, name)) return false;
      return partOf(step).every((index, axis) => index === null || index === cell[axis]);
    }) ?? null
  );
}

/** The cell or part that a step sets, an index or null along each of the first axes. */
export function partOf(step: Step): readonly (number | null)[] {
  if (step.kind === "allow" || step.kind === "forbid") {
    return [step.sentence ?? 0, step.head ?? null, Number(step.query), Number(step.key)];
  }
  return step.kind === "replace" || step.kind === "patch" ? (step.cell ?? []) : [];
}
