/** What a page without a server has in the place of one: its run, and the engine of changes. */

export { engineOfPage } from "../edit/session/in_page.ts";
export { EmbeddedSource } from "../sources/embedded_source.ts";
