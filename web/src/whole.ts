/** The page in one file, for an exported page and a notebook; its parts are given out for whoever has no page. */

import "./main.tsx";
import { inNotebook } from "./leave/widget.ts";

export { parseChanges } from "./edit/changes.ts";
export { engineOf } from "./edit/engine.ts";
export { pythonOf } from "./edit/python.ts";
export { activityMatrix } from "./levels/mask/activity.ts";
export { axisNames } from "./run/axes.ts";
export { cellAt, explainCell, RULES } from "./run/interpreter.ts";
export { recompute } from "./run/recompute.ts";
export { readTensors } from "./run/safetensors.ts";
export { Store } from "./run/store.ts";
export { scoutOf } from "./scenes/scout.ts";
export { stepsOf, told } from "./tour/tour.ts";
export { TOURS } from "./tour/tours.ts";

/** What anywidget calls to show a trace in a notebook. */
export default { render: inNotebook };
