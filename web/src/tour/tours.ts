/** The tours, by name: what each shows, which runs it suits, its steps. Its texts: `glassformer/page/tours/NAME.toml`. */

import type { Names } from "../formulas/names.ts";
import type { Step } from "./step.ts";
import { ANSWER } from "./steps/answer.ts";
import { BERT } from "./steps/bert.ts";
import { DECODER } from "./steps/decoder.ts";
import { INPUT } from "./steps/input.ts";
import { SCORES } from "./steps/scores.ts";
import { TRANSLATION } from "./steps/translation.ts";
import { VALUES } from "./steps/values.ts";

export interface Tour {
  readonly name: string;
  readonly title: string;
  /** What it shows, in one line. */
  readonly shows: string;
  /** The document that it follows, before a part of it; empty: each step names its own. */
  readonly follows: string;
  /** The stack whose attention is followed; empty: the first. */
  readonly stack: "" | "encoder" | "decoder";
  readonly steps: readonly Step[];
  suits(names: Names): boolean;
}

const attends = ({ run }: Names, within: string): boolean =>
  run.formulas.some(({ name }) => name.includes(within) && name.endsWith("attention.weights"));

/** The stack in which no word sees those after it. */
const looksBack = ({ run }: Names): boolean =>
  run.formulas.some(({ name, rule }) => name.startsWith("decoder.") && rule["causal"] === true);

/** In the order in which they are offered: what a model is for stands before what all models have. */
export const TOURS: readonly Tour[] = [
  {
    name: "translation",
    title: "From one language to another",
    shows: "The encoder reads, the decoder writes: which source word each target word looks at, and how one is chosen.",
    ...{ follows: "", stack: "decoder", steps: TRANSLATION },
    suits: (names) => attends(names, ".cross_attention."),
  },
  {
    name: "decoder",
    title: "Writing, word after word",
    shows: "Why no word sees the next one, what each word looks at, and how the one that follows is chosen.",
    ...{ follows: "", stack: "decoder", steps: DECODER },
    suits: looksBack,
  },
  {
    name: "slides",
    title: "Attention, step by step",
    shows: "From words to vectors, queries, keys and values to the answer, in the order of the slides.",
    ...{ follows: "the slides: ", stack: "", steps: [...INPUT, ...SCORES, ...VALUES, ...ANSWER] },
    suits: () => true,
  },
  {
    name: "bert",
    title: "BERT and its tasks",
    shows: "What a model that reads in both directions is trained on, and what it is used for.",
    ...{ follows: "", stack: "encoder", steps: BERT },
    suits: (names) => attends(names, "encoder.") && !names.run.model.stacks.some(({ side }) => side === "decoder"),
  },
];

export const SLIDES = "slides";

export function suiting(names: Names): Tour[] {
  return TOURS.filter((tour) => tour.suits(names));
}

/** A place in a tour. */
export interface Place {
  readonly tour: Tour | undefined;
  readonly step: number;
}

export function placeIn(address: string): Place {
  const [step = "", name = SLIDES] = address.split(".").reverse();
  return { tour: TOURS.find((tour) => tour.name === name), step: Number(step) };
}

/** As the address writes it: the slides' tour has no name there. */
export function addressOf({ name }: Tour, step: number): string {
  return name === SLIDES ? `${step}` : `${name}.${step}`;
}
