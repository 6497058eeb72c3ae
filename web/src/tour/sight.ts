/** What a step of a tour brings into sight. */

import { state } from "../frame/state.ts";

/** Brings the cell in hand into sight, and gives the keys to the picture where nothing else has them. */
export function intoSight(byKey = false): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const held = document.activeElement;
      if (byKey && (held === document.body || ["CANVAS", "H2"].includes(held?.tagName ?? ""))) {
        document.querySelector<HTMLElement>(".main canvas")?.focus({ preventScroll: true });
      }
      // Where several pictures have it, the first one is that of the step.
      const block = state.value.level === "block" ? "center" : "nearest";
      document.querySelector(".main .frame-of-cell")?.scrollIntoView({ block });
    }),
  );
}
