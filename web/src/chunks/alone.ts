/** What a page without a server has in the place of one: its run, the engine of changes, and its place within another page. */

export { engineOfPage } from "../edit/session/in_page.ts";
export { embed } from "../leave/embedded.ts";
export { EmbeddedSource } from "../sources/embedded_source.ts";
