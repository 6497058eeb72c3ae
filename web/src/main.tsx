/** Starts the page, where there is one; the interpreter is given out for whoever has none. */

import { render } from "preact";
import { engineOf } from "./edit/engine.ts";
import { Session } from "./edit/session.ts";
import { App } from "./frame/app.tsx";
import { firstUnit, largestWeight } from "./frame/first.ts";
import { follow, go, state } from "./frame/state.ts";
import { HttpSource } from "./run/http_source.ts";
import { EmbeddedSource } from "./run/source.ts";
import { Store } from "./run/store.ts";

export { parseChanges } from "./edit/changes.ts";
export { engineOf } from "./edit/engine.ts";
export { pythonOf } from "./edit/python.ts";
export { axisNames } from "./run/axes.ts";
export { cellAt, explainCell, RULES } from "./run/interpreter.ts";
export { recompute } from "./run/recompute.ts";
export { readTensors } from "./run/safetensors.ts";

async function start(root: HTMLElement): Promise<void> {
  const source = document.getElementById("record") === null ? await HttpSource.open() : await EmbeddedSource.open();
  const store = new Store(source);
  const { run } = store.source;
  await store.open([...run.formulas.map((formula) => formula.name), ...Object.keys(run.facts)]);
  follow();
  const session = new Session(store, await engineOf(source));
  await session.begin();
  const shown = session.store.value;
  if (state.value.unit === "") go({ unit: firstUnit(shown.names.run.formulas.map((formula) => formula.unit)) }, true);
  if (state.value.tensor === "") go(largestWeight(shown), true);
  root.replaceChildren();
  render(<App session={session} />, root);
  performance.mark("drawn");
  if (shown === store) void store.check();
}

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer");
  if (root !== null) {
    start(root).catch((error: unknown) => {
      root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    });
  }
}
