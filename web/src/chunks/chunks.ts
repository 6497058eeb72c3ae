/**
 * What the page begins without. Each row is one file of a served page, fetched when it is opened or once the first view
 * stands; the modules in several of them become files of their own. A view of the first screen belongs to none of them.
 */

import { Chunk } from "./chunk.ts";

export const CHUNKS = {
  rail: new Chunk(() => import("./rail.ts")),
  looking: new Chunk(() => import("./looking.ts")),
  tours: new Chunk(() => import("./tours.ts")),
  scenes: new Chunk(() => import("./scenes.ts")),
  saving: new Chunk(() => import("./saving.ts")),
  summed_up: new Chunk(() => import("./summed_up.ts")),
  workshop: new Chunk(() => import("./workshop.ts")),
  tree: new Chunk(() => import("./tree.ts")),
  learning: new Chunk(() => import("./learning.ts")),
  training: new Chunk(() => import("./training.ts")),
  alone: new Chunk(() => import("./alone.ts")),
};

/** A served page begins with this too, and so does not wait for the styles of the chunks. */
export const live = (): Promise<typeof import("./live.ts")> => import("./live.ts");

/** A page that stands for so many ms has time for what may be opened next. */
const QUIET = 250;

/**
 * Fetches all that this page may need, one after the other, while nothing else is to be done: a click later waits for none.
 */
export async function fetchAhead(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, QUIET));
  const { alone: _, ...wanted } = CHUNKS;
  for (const chunk of Object.values(wanted)) {
    await idle();
    // A failure is reported where the part is shown; a second attempt here would replace that report while it is read.
    if (chunk.wrong.value === "") await chunk.load().catch(() => null);
  }
  performance.mark("chunks");
}

function idle(): Promise<void> {
  return new Promise((resolve) => {
    if ("requestIdleCallback" in globalThis) requestIdleCallback(() => resolve(), { timeout: 2000 });
    else setTimeout(resolve, 0);
  });
}
