/** Starts the page, where there is one; the interpreter is given out for whoever has none. */

import { render } from "preact";
import { engineOf } from "./edit/engine.ts";
import { Session } from "./edit/session.ts";
import { App } from "./frame/app.tsx";
import { firstUnit, largestWeight } from "./frame/first.ts";
import { follow, go, type Level, state } from "./frame/state.ts";
import { keepNotice } from "./leave/whole.ts";
import { inNotebook } from "./leave/widget.ts";
import { LEVELS } from "./levels/levels.ts";
import { reachKernel } from "./run/carrier.ts";
import { HttpSource } from "./run/http_source.ts";
import type { RunRecord } from "./run/record.ts";
import { EmbeddedSource } from "./run/source.ts";
import { Store } from "./run/store.ts";
import { enter } from "./tour/tour.ts";

export { parseChanges } from "./edit/changes.ts";
export { engineOf } from "./edit/engine.ts";
export { pythonOf } from "./edit/python.ts";
export { activityMatrix } from "./levels/mask/activity.ts";
export { axisNames } from "./run/axes.ts";
export { cellAt, explainCell, RULES } from "./run/interpreter.ts";
export { recompute } from "./run/recompute.ts";
export { readTensors } from "./run/safetensors.ts";
export { Store } from "./run/store.ts";
export { ALL, scoutOf, stepsOf, told } from "./tour/tour.ts";

/** So many formulas are drawn together at the level of a block. */
const DRAWN_WHOLE = 30;
/** What anywidget calls to show a trace in a notebook. */
export default { render: inNotebook };

async function start(root: HTMLElement): Promise<void> {
  if (root.dataset["host"] === "kernel") await reachKernel();
  const source = document.getElementById("record") === null ? await HttpSource.open() : await EmbeddedSource.open();
  const store = new Store(source);
  const { run } = source;
  follow();
  const asked = /[#&]sentence=/.test(location.hash) ? state.value.sentence : undefined;
  if (!/[#&]level=/.test(location.hash)) go({ level: firstLevel(run) }, true);
  // Words and vectors without a model: there is nothing but a mask to draw.
  if (run.formulas.length === 0 && state.value.level === "block")
    go({ level: "mask", options: run.options ?? [] }, true);
  const session = new Session(store, await engineOf(source));
  await session.begin();
  const shown = session.store.value;
  if (state.value.unit === "") go({ unit: firstUnit(shown.names.run.formulas.map((formula) => formula.unit)) }, true);
  // Of a large run the views fetch what they show, and nothing is in hand at the widest levels.
  if (shown.source.whole)
    await shown.open([...shown.names.run.formulas.map(({ name }) => name), ...Object.keys(shown.names.run.facts)]);
  else if (LEVELS[state.value.level].Beside === undefined) await shown.open(firstWeights(shown.names.run));
  if (state.value.tour > 0 && state.value.tensor === "") await enter(shown, state.value.tour, true);
  if (state.value.tensor === "") go(largestWeight(shown, asked), true);
  keepNotice(root);
  root.replaceChildren();
  render(<App session={session} />, root);
  performance.mark("drawn");
  if (shown === store && source.whole) void store.check();
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

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer");
  if (root !== null) {
    start(root).catch((error: unknown) => {
      root.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    });
  }
}
