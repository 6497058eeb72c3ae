/** How a model learned. */

export { TrainingBeside } from "../levels/training/training_beside.tsx";
export { TrainingView } from "../levels/training/training_view.tsx";
