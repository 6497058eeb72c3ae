/**
 * What another page includes to show a view of this site, as high as it is:
 * `<script src="embed.js" data-page="english.html" data-place="level=lens"></script>`.
 */

import type { Told } from "../leave/embedded.ts";

const script = document.currentScript;
if (script instanceof HTMLScriptElement) {
  const { page = "index.html", place = "", title = "a view of a model" } = script.dataset;
  const frame = document.createElement("iframe");
  frame.src = `${new URL(page, script.src).href}#${place}${place === "" ? "" : "&"}embed`;
  frame.title = title;
  frame.loading = "lazy";
  frame.style.cssText = "display:block;width:100%;height:320px;border:0";
  addEventListener("message", ({ source, data }: MessageEvent<Told | null>) => {
    if (source !== frame.contentWindow || data?.glassformer !== "height" || !Number.isFinite(data.height)) return;
    frame.style.height = `${Math.min(Math.max(data.height, 40), 10_000)}px`;
  });
  script.after(frame);
}
