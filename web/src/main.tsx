export { explainCell, recompute, RULES, cellAt } from "./interpreter.ts";
export { readTensors } from "./safetensors.ts";
export { axisNames } from "./axes.ts";
