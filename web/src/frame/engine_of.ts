/** The engine for what a page has opened: its server, or the page itself, which fetches what it needs for that. */

import { CHUNKS } from "../chunks/chunks.ts";
import { type Engine, Server } from "../edit/session/engine.ts";
import { HttpSource } from "../sources/http_source.ts";
import type { Source } from "../sources/source.ts";

export async function engineOf(source: Source): Promise<Engine> {
  return source instanceof HttpSource ? new Server(source) : (await CHUNKS.alone.load()).engineOfPage(source);
}
