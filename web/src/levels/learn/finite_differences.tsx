/** The check that the reader starts: every gradient against differences of the loss. */

import type { VNode } from "preact";
import { power, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { check, checked, type Lesson } from "./lesson.ts";
import { nameAt } from "./places.ts";

/** Differences over 2·10⁻⁵ are right to about ten digits. */
const HOLDS = 1e-6;

export function FiniteDifferences({ now }: { now: Lesson }): VNode {
  const last = checked.value;
  const holds = last !== null && last.found.difference <= HOLDS;
  return (
    <section class="finite" aria-label={say`check by finite differences`}>
      <h2>{say`Are the gradients right?`}</h2>
      <p class="says plain">
        {say`Move each weight up and down by 0.00001, compute the loss both times, divide the difference of both losses by 0.00002: about the gradient, without any derivative.`}
      </p>
      <button type="button" class="act" onClick={check} data-do="check">
        {say`Check the gradients of this step`}
      </button>
      {last !== null && (
        <p class="check" data-holds={holds} data-difference={String(last.found.difference)} role="status">
          <span class="mark" aria-hidden="true">
            {holds ? "✓" : "✗"}
          </span>
          <span>
            {say`Step ${last.step}, ${last.found.count} gradients${last.found.count < last.found.of && say` of ${last.found.of}, spread evenly`}: the largest difference is ${power(last.found.difference)} of the largest gradient, at ${nameAt(now, last.found.worst)}: gradient ${short(last.found.gradient, 6)}, by differences ${short(last.found.quotient, 6)}.${!holds && say` A unit of the ReLU that turns on or off between both losses can do that: try the next step.`}`}
          </span>
        </p>
      )}
    </section>
  );
}
