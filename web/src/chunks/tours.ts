/** The tours: their steps, the strip that shows them, and where they begin; the quiz, which leads to them. */

export { QuizView } from "../quiz/quiz_view.tsx";
export { Offers } from "../tour/choice.tsx";
export { intoSight } from "../tour/sight.ts";
export { Strip } from "../tour/strip.tsx";
export { enter, goesOn } from "../tour/tour.ts";
export { suiting } from "../tour/tours.ts";
