/** The picture of what was filled in: a page of which nothing is, and whose texts cannot be read anew, lacks it. */

export { drawPadding, readsAlone } from "./attention/padding.ts";
