/** Below: what can be done here, and whether the numbers hold. */

import type { VNode } from "preact";
import { later } from "../address/state.ts";
import { counted, grouped, power } from "../numbers/written.ts";
import { dragging } from "../views/drag.ts";
import { useStore } from "../views/hooks.ts";
import { heard, say } from "../words/say.ts";
import { LEVELS } from "./levels.ts";

const DRAGGING = say`Drop it on another cell: that cell then has this number. With Shift its whole row. Escape: leave it`;

export function Foot(): VNode {
  const store = useStore();
  const { error_limit } = store.names.run;
  const [honesty, checked] = [store.honesty.value, store.checked.value];
  const holds = checked === null || checked.error <= error_limit;
  return (
    <footer class="foot">
      <span>{dragging.value ? DRAGGING : LEVELS[later.value.level].hint}</span>
      <span data-holds={holds} data-checked={checked?.count ?? 0}>
        {checked !== null &&
          (holds
            ? say`${counted(checked.count, "number")}${checked.count + checked.set < checked.of ? say` of ${grouped(checked.of)}` : ""}${checked.set > 0 ? say` (${checked.set} set by you)` : ""} recomputed in this page, max error ${power(checked.error)}`
            : say`${checked.worst} does not agree with its formula: ${power(checked.error)}`)}
      </span>
      {typeof honesty === "string" && <span class="quiet">{honesty}</span>}
      {honesty !== null && typeof honesty !== "string" && (
        <span data-holds={honesty.holds} title={heard(honesty.text)}>
          {honesty.holds
            ? say`${honesty.before_changes === true ? say`before the changes, ` : ""}looking changes nothing: max difference ${power(honesty.watched)}`
            : heard(honesty.text)}
        </span>
      )}
    </footer>
  );
}
