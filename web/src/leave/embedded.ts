/** A page within another page: `embed` in its address shows its view alone, as high as it is. */

import { effect } from "@preact/signals";
import { format, given, state } from "../address/state.ts";
import { say } from "../words/say.ts";

/** What an embedded page sends to the page around it: `home/embed.ts` receives it. */
export interface Told {
  readonly glassformer: "height";
  readonly height: number;
}

/** Whether an address asks for the view alone. */
export function asksToEmbed(address: string): boolean {
  return new URLSearchParams(address.replace(/^#/, "")).has("embed");
}

/** Shows the view alone where the address asks for it: the rest of the page is hidden by its style. */
export function embed(): void {
  if (!asksToEmbed(given())) return;
  document.documentElement.dataset["embed"] = "";
  const open = document.createElement("a");
  open.className = "embed-open";
  open.target = "_blank";
  open.rel = "noopener";
  open.textContent = say`open the page`;
  document.body.append(open);
  effect(() => {
    open.href = location.href.replace(/#.*/s, "") + format(state.value);
  });
  if (parent === window) return;
  let before = 0;
  const tell = (): void => {
    const height = Math.ceil(document.body.scrollHeight);
    if (height === before || document.querySelector(".main") === null) return;
    before = height;
    parent.postMessage({ glassformer: "height", height } satisfies Told, "*");
  };
  new ResizeObserver(tell).observe(document.body);
}
