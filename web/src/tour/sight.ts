/** What a step of a tour brings into sight. */

import { state } from "../address/state.ts";

/** So many frames a picture is waited for: one that has to be measured first, or read, comes later than its view. */
const FRAMES = 120;

/** Brings the cell in hand into sight, and gives the keys to the picture where nothing else has them. */
export function intoSight(byKey = false): void {
  let left = FRAMES;
  const look = (): void => {
    const canvas = document.querySelector<HTMLElement>(".main canvas[tabindex]");
    if (canvas === null && left-- > 0) {
      requestAnimationFrame(look);
      return;
    }
    const held = document.activeElement;
    if (byKey && (held === document.body || ["CANVAS", "H2", "MAIN"].includes(held?.tagName ?? ""))) {
      canvas?.focus({ preventScroll: true });
    }
    // Where several pictures have it, the first one is that of the step.
    const block = state.value.level === "block" ? "center" : "nearest";
    document.querySelector(".main .frame-of-cell")?.scrollIntoView({ block });
  };
  requestAnimationFrame(() => requestAnimationFrame(look));
}
