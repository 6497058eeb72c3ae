/** The engine for what a page has opened: its server, or the page itself, which fetches what it needs for that. */

import { CHUNKS, live } from "../chunks/chunks.ts";
import type { Engine } from "../edit/session/engine.ts";
import { isServed } from "../sources/served.ts";
import type { Source } from "../sources/source.ts";

export async function engineOf(source: Source): Promise<Engine> {
  if (!isServed(source)) return (await CHUNKS.alone.load()).engineOfPage(source);
  const { Server } = await live();
  return new Server(source);
}
