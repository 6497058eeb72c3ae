/** The levels that sum a run up. */

export { GradientsView } from "../levels/gradients/gradients_view.tsx";
export { Insight } from "../levels/lens/insight.tsx";
export { LensBeside, LensView } from "../levels/lens/lens_view.tsx";
export { RolloutView } from "../levels/rollout/rollout_view.tsx";
export { TiesView } from "../levels/ties/ties_view.tsx";
