/** Starts the page, where there is one; the interpreter is given out for whoever has none. */

import { render } from "preact";
import { App } from "./frame/app.tsx";
import { largestWeight } from "./frame/first.ts";
import { follow, go, state } from "./frame/state.ts";
import { HttpSource } from "./run/http_source.ts";
import { EmbeddedSource } from "./run/source.ts";
import { Store } from "./run/store.ts";

export { activityMatrix } from "./levels/mask/activity.ts";
export { axisNames } from "./run/axes.ts";
export { cellAt, explainCell, RULES, recompute } from "./run/interpreter.ts";
export { readTensors } from "./run/safetensors.ts";

async function start(root: HTMLElement): Promise<void> {
  const source = document.getElementById("record") === null ? await HttpSource.open() : await EmbeddedSource.open();
  const store = new Store(source);
  const { run } = store.source;
  await store.open([...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  follow();
  // Words and vectors without a model: there is nothing but a mask to draw.
  if (run.formulas.length === 0 && state.value.level === "block")
    go({ level: "mask", options: run.options ?? [] }, true);
  if (state.value.unit === "") go({ unit: firstUnit(run.formulas.map((formula) => formula.unit)) }, true);
  if (state.value.tensor === "") go(largestWeight(store), true);
  root.replaceChildren();
  render(<App store={store} />, root);
  performance.mark("drawn");
  void store.check();
}

/** The first block; of a model without blocks its first part. */
function firstUnit(units: readonly string[]): string {
  return units.find((unit) => unit.includes(".blocks.")) ?? units[0] ?? "";
}

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer");
  if (root !== null) {
    start(root).catch((error: unknown) => {
      root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    });
  }
}
