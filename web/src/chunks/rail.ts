/** What the rail has below the model and its parts, and what moves between levels: the first screen stands without them. */

export { Changes } from "../edit/views/changes_view.tsx";
export { Compare } from "../edit/views/compare_view.tsx";
export { OfBoth } from "../edit/views/of_both.tsx";
export { Touch } from "../edit/views/touch.tsx";
export { begin } from "../views/moving.ts";

// An exported page whose texts cannot be read anew lacks it.
export const { TextFields } = await import("../edit/views/texts_view.tsx");
