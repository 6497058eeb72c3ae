/** What a page with a server has in the place of what a page alone has: its requests, its runs, the engine of its changes. */

export { Server } from "../edit/session/server.ts";
export { reachKernel } from "../sources/carrier.ts";
export { HttpSource } from "../sources/http_source.ts";
