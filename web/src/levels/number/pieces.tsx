/** What is said of a number, at its own level and next to the others. */

import type { VNode } from "preact";
import { toldStep } from "../../edit/changes/told.ts";
import type { Explanation } from "../../formulas/interpreter.ts";
import type { Part } from "../../formulas/sentences.ts";
import { power, short } from "../../numbers/written.ts";
import type { Answer } from "../../run/store.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";

/** A number whose formula does not hold: it was set by hand. */
export function SetByHand({ answer }: { answer: Extract<Answer, { kind: "set" }> }): VNode {
  const { names } = useStore();
  const would = answer.formula !== null && say`: its formula would give ${short(answer.formula)}`;
  return (
    <p data-set="by hand">
      <b>{say`Set by hand`}</b>
      {would}. <span class="quiet">{toldStep(answer.by, names)}</span>
    </p>
  );
}

export function Sentence({ parts }: { parts: readonly Part[] }): VNode {
  return (
    <>
      {parts.map((part) => {
        if (typeof part === "string") return part;
        return <b class={part.of === "strong" ? "" : part.of}>{part.text}</b>;
      })}
    </>
  );
}

export function Check({ found }: { found: Explanation }): VNode {
  const { names } = useStore();
  const holds = found.error <= names.run.error_limit;
  return (
    <p class="check" data-holds={holds} data-recomputed={String(found.recomputed)} data-error={String(found.error)}>
      <span class="mark" aria-hidden="true">
        {holds ? "✓" : "✗"}
      </span>
      {holds && found.difference === 0 && say`recomputed: the same`}
      {holds && found.difference !== 0 && say`recomputed: same to ${power(found.difference)}`}
      {!holds && say`recomputed: ${short(found.recomputed, 6)}, which is ${power(found.difference)} away`}
    </p>
  );
}
