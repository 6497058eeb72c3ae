/** Starts the page, where there is one; the interpreter is given out for whoever has none. */

import { render } from "preact";
import { App } from "./frame/app.tsx";
import { largestWeight } from "./frame/first.ts";
import { follow, go, type Level, state } from "./frame/state.ts";
import { LEVELS } from "./levels/levels.ts";
import { HttpSource } from "./run/http_source.ts";
import type { RunRecord } from "./run/record.ts";
import { EmbeddedSource } from "./run/source.ts";
import { Store } from "./run/store.ts";

export { axisNames } from "./run/axes.ts";
export { cellAt, explainCell, RULES, recompute } from "./run/interpreter.ts";
export { readTensors } from "./run/safetensors.ts";

/** So many formulas are drawn together at the level of a block. */
const DRAWN_WHOLE = 30;

async function start(root: HTMLElement): Promise<void> {
  const source = document.getElementById("record") === null ? await HttpSource.open() : await EmbeddedSource.open();
  const store = new Store(source);
  const { run } = source;
  follow();
  const asked = /[#&]sentence=/.test(location.hash) ? state.value.sentence : undefined;
  if (!/[#&]level=/.test(location.hash)) go({ level: firstLevel(run) }, true);
  if (state.value.unit === "") go({ unit: firstUnit(run.formulas.map((formula) => formula.unit)) }, true);
  // Of a large run the views fetch what they show, and nothing is in hand at the widest levels.
  if (source.whole) await store.open([...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  else if (LEVELS[state.value.level].Beside === undefined) await store.open(firstWeights(run));
  if (state.value.tensor === "") go(largestWeight(store, asked), true);
  root.replaceChildren();
  render(<App store={store} />, root);
  performance.mark("drawn");
  if (source.whole) void store.check();
}

/** A small model is drawn whole, with all its tensors; of a larger one the parts first. */
function firstLevel({ formulas }: RunRecord): Level {
  return formulas.length <= DRAWN_WHOLE ? "block" : "model";
}

function firstWeights({ formulas }: RunRecord): string[] {
  return formulas
    .filter(({ name }) => name.endsWith("self_attention.weights"))
    .map(({ name }) => name)
    .slice(0, 1);
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
