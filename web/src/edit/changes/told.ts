/** A change in words. */

import type { Names } from "../../formulas/names.ts";
import { short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { say } from "../../words/say.ts";
import type { Step } from "./changes.ts";
import { outputs } from "./changes.ts";

/** What a step does, for the list of changes. */
export function toldStep(step: Step, names: Names): string {
  switch (step.kind) {
    case "change_word": {
      const id = Number(step.id);
      return say`word ${Number(step.token) + 1} → ${names.run.words.vocabulary[id] ?? say`token ${id}`}`;
    }
    case "mask_word":
      return say`“${word(names, step.where ?? "inputs", step.sentence ?? 0, step.token)}” masked`;
    case "allow":
    case "forbid": {
      const formula = names.formulas.get(`${step.attention}.may_look`);
      const sentence = step.sentence ?? 0;
      const query = word(names, formula?.tokens ?? "inputs", sentence, step.query);
      const key = word(names, formula?.keys ?? "inputs", sentence, step.key);
      const head = step.head == null ? say`in all heads` : say`in head ${step.head}`;
      return `${query} → ${key} ${step.kind === "allow" ? say`allowed` : say`forbidden`} ${head}, ${names.place(`${step.attention}.weights`)}`;
    }
    case "replace": {
      const cell = step.cell ?? [];
      const layer = step.where.replace(/\.output$/, "").replace(/\.\*$/, "");
      const how =
        step.by === "mean"
          ? say`gives every word the same`
          : step.by === 0
            ? say`off`
            : say`set to ${short(Number(step.by))}`;
      if (cell.length === 0 && outputs(layer) === step.where) return `${names.place(`${layer}.output`)} ${how}`;
      if (step.where.endsWith(".mixed") && cell.length === 2 && cell[0] === null)
        return say`head ${cell[1]} ${how}, ${names.place(step.where)}`;
      const to = step.by === "mean" ? say`set to its mean` : say`set to ${short(Number(step.by))}`;
      const axes = names.knows(step.where) ? names.axes(step.where) : [];
      const fixed = axes.filter((_, axis) => cell[axis] != null);
      const at = fixed.length === 0 ? "" : names.cell(step.where, cell.map(Number), fixed);
      const where = at === "" ? "" : `, ${at}`;
      return `${names.title(step.where)}${where} ${to}`;
    }
    case "patch":
      return say`${names.title(step.where)} of another run`;
  }
}

function word(names: Names, side: Side, sentence: number, token: number | string): string {
  return typeof token === "number" ? names.word(side, sentence, token).text : token;
}
