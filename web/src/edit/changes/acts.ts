/** What can be done to the number in hand, each as the change it makes: the same list for the keys and the buttons. */

import type { Names } from "../../formulas/names.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { heard, say } from "../../words/say.ts";
import { type Change, outputs, replaces, type Step } from "./changes.ts";

export interface Act {
  readonly key: string;
  readonly text: string;
  /** What is made; null = the change that is there already is taken back. */
  readonly change: Step;
  readonly back: boolean;
}

/** The acts for a cell of a tensor; `back` where the same change was made before. */
export function actsFor(
  name: string,
  cell: readonly number[],
  names: Names,
  fetch: (name: string) => Tensor | undefined,
  changes: readonly Change[],
): Act[] {
  const acts: Act[] = [];
  const axes = names.axes(name);
  const index = (axis: string): number | null => (axes.includes(axis) ? (cell[axes.indexOf(axis)] ?? 0) : null);
  const act = (key: string, text: string, again: string, change: Step): void => {
    const back = changes.some((each) => replaces(change, each));
    acts.push({ key, text: back ? again : text, change, back });
  };
  const path = /^((?:encoder|decoder)\.blocks\.\d+)\.(self_attention|cross_attention|feed_forward)\b/.exec(name);
  const [sublayer = "", block = ""] = path ?? [];
  const [query, key, head] = [index("query"), index("key"), index("head")];
  const sentence = index("sentence") ?? 0;
  if (query !== null && key !== null && sublayer.endsWith("attention")) {
    const kind = looks(sublayer, sentence, head ?? 0, query, key, fetch) ? "forbid" : "allow";
    const pair = names.cell(name, cell, ["query", "key"]);
    for (const [one, letter, which] of [
      [head ?? 0, "f", say`in head ${head ?? 0}`] as const,
      [null, "F", say`in all heads`] as const,
    ]) {
      const change: Step = { kind, attention: sublayer, query, key, head: one, sentence };
      const other: Step = { ...change, kind: kind === "forbid" ? "allow" : "forbid" };
      const made = changes.some((each) => replaces(other, each)) ? other : change;
      act(
        letter,
        kind === "forbid" ? say`Forbid ${pair} ${which}` : say`Allow ${pair} ${which}`,
        say`Take back: ${pair} ${which}`,
        made,
      );
    }
  }
  if (head !== null && sublayer.endsWith("attention")) {
    const mixed = { kind: "replace", where: `${sublayer}.mixed`, cell: [null, head] } as const;
    act("h", say`Switch head ${head} off`, say`Switch head ${head} on`, { ...mixed, by: 0, cell: mixed.cell });
    const mean: Step = { ...mixed, by: "mean", cell: mixed.cell };
    if (!changes.some((each) => replaces(mean, each))) act("", say`Head ${head} gives every word the same`, "", mean);
  }
  if (sublayer !== "") {
    const called = heard(sublayer.slice(block.length + 1).replace("_", "-"));
    const off = (where: string): Step => ({ kind: "replace", where: outputs(where), by: 0, cell: [] });
    act("l", say`Switch this ${called} off`, say`Switch this ${called} on`, off(sublayer));
    act(
      "L",
      say`Switch all of ${names.place(`${block}.output`)} off`,
      say`Switch ${names.place(`${block}.output`)} on`,
      off(block),
    );
  }
  return acts;
}

/** Whether this query may look at this key now. */
function looks(
  attention: string,
  sentence: number,
  head: number,
  query: number,
  key: number,
  fetch: (name: string) => Tensor | undefined,
): boolean {
  const mask = fetch(`${attention}.may_look`);
  if (mask === undefined) return true;
  return (
    at(
      mask,
      [sentence, head, query, key].map((place, axis) => Math.min(place, (mask.shape[axis] ?? 1) - 1)),
    ) !== 0
  );
}

/** Whether a number can be set: those that the model computes, but for the mask, which is allowed and forbidden. */
export function canSet(name: string, names: Names): boolean {
  const formula = names.formulas.get(name);
  return formula !== undefined && !["loss", "choice"].includes(formula.unit) && formula.rule.rule !== "may_look";
}
