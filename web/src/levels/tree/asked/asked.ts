/** What asks a server to write. An exported page lacks it. */

export { goBack, rewrite, write } from "./rewriting.ts";
export { problem, searched, wishOf } from "./searching.ts";
export { Ways } from "./ways.tsx";
export { Writer } from "./writer.tsx";
