/** Starts the page, where there is one; the interpreter is given out for whoever has none. */

import { render } from "preact";
import { App } from "./app.tsx";
import { largestWeight } from "./first.ts";
import { HttpSource } from "./http_source.ts";
import { EmbeddedSource } from "./source.ts";
import { follow, go, state } from "./state.ts";
import { Store } from "./store.ts";

export { axisNames } from "./axes.ts";
export { cellAt, explainCell, RULES, recompute } from "./interpreter.ts";
export { readTensors } from "./safetensors.ts";

async function start(root: HTMLElement): Promise<void> {
  const source = document.getElementById("record") === null ? await HttpSource.open() : await EmbeddedSource.open();
  const store = new Store(source);
  const { run } = store.source;
  await store.open([...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  follow();
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
