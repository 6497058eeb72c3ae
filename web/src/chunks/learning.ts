/** The model learns in the page. */

export { LearnBeside } from "../levels/learn/learn_beside.tsx";
export { LearnView } from "../levels/learn/learn_view.tsx";
