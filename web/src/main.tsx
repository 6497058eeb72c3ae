/** Starts the page, where there is one. */

import { render } from "preact";
import { firstLevel, firstUnit, firstWeights, largestWeight, withoutModel } from "./address/first.ts";
import { follow, given, go, state, together } from "./address/state.ts";
import { CHUNKS, fetchAhead, live } from "./chunks/chunks.ts";
import { Session } from "./edit/session/session.ts";
import { App } from "./frame/app.tsx";
import { engineOf } from "./frame/engine_of.ts";
import { LEVELS, ORDER } from "./frame/levels.ts";
import { keepNotice } from "./leave/notice.ts";
import { problemOf } from "./sources/refused.ts";
// What several parts read and the core does not would be a file of its own, and a served page would wait for it.
import "./formulas/rules_for.ts";
import "./measures/heads.ts";
import "./record/record.ts";
import { Store } from "./run/store.ts";
import type { Source } from "./sources/source.ts";
import { say } from "./words/say.ts";

/** The run that the page carries; the address may ask for one view of it within another page. */
async function ofItsOwn(): Promise<Source> {
  const { EmbeddedSource, embed } = await CHUNKS.alone.load();
  embed();
  return EmbeddedSource.open();
}

/** The run of the page's server, or of the kernel of a notebook. */
async function ofServer(kernel: boolean): Promise<Source> {
  const { HttpSource, reachKernel } = await live();
  if (kernel) await reachKernel();
  return HttpSource.open();
}

async function start(root: HTMLElement): Promise<void> {
  const alone = document.getElementById("record") !== null;
  const source = await (alone ? ofItsOwn() : ofServer(root.dataset["host"] === "kernel"));
  const store = new Store(source);
  follow();
  const address = given();
  // What the address asks for comes while the run is read; what fails is shown in its place.
  const drawn = (): Promise<unknown> | undefined => LEVELS[state.value.level].chunk?.load().catch(() => null);
  if (/[#&]level=/.test(address)) void drawn();
  const asked = /[#&]sentence=/.test(address) ? state.value.sentence : undefined;
  const session = new Session(store, await engineOf(source));
  await session.begin();
  const shown = session.store.value;
  const { formulas, facts, options } = shown.names.run;
  if (!/[#&]level=/.test(address)) go({ level: firstLevel(formulas) }, true);
  // Without a model there is nothing but a training, or a mask to draw.
  if (formulas.length === 0 && state.value.level === "block") {
    go({ level: withoutModel(facts), options: options ?? [] }, true);
  }
  if (state.value.unit === "") go({ unit: firstUnit(formulas.map((formula) => formula.unit)) }, true);
  // Of a large run the views fetch what they show, and nothing is in hand at the widest levels.
  const { whole } = shown.source;
  if (whole) await shown.open([...formulas.map((formula) => formula.name), ...Object.keys(facts)]);
  else if (LEVELS[state.value.level].Beside === undefined) await shown.open(firstWeights(formulas));
  // A number that the address does not name is that of the run which it asks for, not that of the step.
  if (state.value.tour !== "" && !/[#&]tensor=/.test(address)) {
    const tours = await CHUNKS.tours.load().catch(() => null);
    await tours?.enter(shown, state.value.tour, true);
  }
  if (state.value.tensor === "") go(largestWeight(shown, asked), true);
  await drawn();
  together();
  keepNotice(root);
  root.replaceChildren();
  render(<App session={session} />, root);
  performance.mark("drawn");
  void fetchAhead().then(() => CHUNKS.rail.here.value?.begin(ORDER));
  if (whole && shown === store) void store.check();
}

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer");
  if (root !== null) {
    start(root).catch((error: unknown) => {
      root.textContent = say`This page cannot be shown: ${problemOf(error)}`;
    });
  }
}
