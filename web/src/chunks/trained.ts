/** What is drawn of a training: a page without one lacks this part. */

export { Numbers } from "../levels/training/step_numbers.tsx";
export { Training } from "../levels/training/trained.tsx";
