/** The page in one file, for an exported page and a notebook; its parts are given out for whoever has no page. */

import "./main.tsx";
import { RULES } from "./formulas/interpreter.ts";
import { CHAINS } from "./formulas/rules/chains.ts";
import { inNotebook } from "./leave/widget.ts";

export { parseChanges } from "./edit/changes/changes.ts";
export { pythonOf } from "./edit/changes/python.ts";
export { cellAt, explainCell } from "./formulas/interpreter.ts";
export { Program } from "./formulas/program.ts";
export { recompute } from "./formulas/recompute.ts";
export { engineOf } from "./frame/engine_of.ts";
export { checkedByDifferences } from "./learn/finite.ts";
export { Learner } from "./learn/learner.ts";
export { setUp } from "./learn/setup.ts";
export { activityMatrix } from "./levels/mask/activity.ts";
export { readTensors } from "./numbers/safetensors.ts";
export { axisNames } from "./record/axes.ts";
export { Store } from "./run/store.ts";
export { scoutOf } from "./scout/scout.ts";
export { withDerived } from "./sources/derived.ts";
export { stepsOf, told } from "./tour/tour.ts";
export { TOURS, textsOf } from "./tour/tours.ts";

Object.assign(RULES, CHAINS);

export { RULES };

/** What anywidget calls to show a trace in a notebook. */
export default { render: inNotebook };
