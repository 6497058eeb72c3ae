/** A text that has other tokens now: the changes of its cells go with their words. */

import { axisNames } from "../../record/axes.ts";
import type { RunRecord, Side } from "../../record/record.ts";
import { touches } from "../../record/set_by.ts";
import type { Change } from "./changes.ts";
import { movedTo } from "./words.ts";

type Moves = (side: Side, sentence: number) => readonly (number | null)[] | null;

/**
 * The changes with their places where the words stand now, null where nothing moves; one whose word was left out goes
 * with it.
 */
export function movedChanges(changes: readonly Change[], old: RunRecord, now: RunRecord): Change[] | null {
  const moves: Moves = (side, sentence) => {
    const [one, two] = [old, now].map(({ words }) => words[side][sentence]?.filter((word) => word !== "–"));
    if (one === undefined || two === undefined || one.length === two.length) return null;
    return movedTo(one, two);
  };
  // In other texts the words stand elsewhere.
  const others = old.title !== now.title || old.words.inputs.length !== now.words.inputs.length;
  if (others) return null;
  const found = changes.flatMap((change) => moved(change, moves, old) ?? []);
  return found.length === changes.length && found.every((change, place) => change === changes[place]) ? null : found;
}

/** The change at its new place, itself where it stays; null where its word is gone. */
function moved(change: Change, moves: Moves, run: RunRecord): Change | null {
  switch (change.kind) {
    case "text":
      return change;
    case "change_word":
    case "mask_word": {
      const token = place(change.token, moves(change.where ?? "inputs", change.sentence ?? 0));
      return token === null ? null : token === change.token ? change : { ...change, token };
    }
    case "allow":
    case "forbid": {
      const formula = run.formulas.find((each) => touches(change, each.name));
      const sentence = change.sentence ?? 0;
      const query = place(change.query, moves(formula?.tokens ?? "inputs", sentence));
      const key = place(change.key, moves(formula?.keys ?? "inputs", sentence));
      if (query === null || key === null) return null;
      return query === change.query && key === change.key ? change : { ...change, query, key };
    }
    case "replace":
    case "patch": {
      const formula = run.formulas.find((each) => each.name === change.where);
      const [sentence] = change.cell ?? [];
      if (formula === undefined || sentence == null) return change;
      const axes = axisNames(formula.axes);
      const cell: (number | null)[] = [];
      for (const [axis, index] of (change.cell ?? []).entries()) {
        const name = axes[axis] ?? "";
        const side = name === "key" ? formula.keys : ["token", "query"].includes(name) ? formula.tokens : null;
        const to = index === null || side === null ? index : place(index, moves(side, sentence));
        if (to === null && index !== null) return null;
        cell.push(to);
      }
      return cell.every((index, axis) => index === change.cell?.[axis]) ? change : { ...change, cell };
    }
  }
}

function place<Place extends number | string>(
  at: Place,
  moves: readonly (number | null)[] | null,
): Place | number | null {
  if (moves === null || typeof at !== "number") return at;
  return moves[at] ?? null;
}
