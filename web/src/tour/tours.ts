/** The tours, by name: what each shows, which runs it suits, its steps. Its texts: `glassformer/page/tours/NAME.toml`. */

import type { Names } from "../formulas/names.ts";
import { vectorsOf } from "../levels/mask/asked.ts";
import { say } from "../words/say.ts";
import type { Step } from "./step.ts";
import { ANSWER } from "./steps/answer.ts";
import { INPUT } from "./steps/input.ts";
import { POST } from "./steps/post.ts";
import { GUIDE, NOTES, retold } from "./steps/retold.ts";
import { SCORES } from "./steps/scores.ts";
import { VALUES } from "./steps/values.ts";
import type { Text, Texts } from "./texts.ts";

// A page lacks those that do not suit its run: then they have no steps.
const [{ BERT = [] }, { DECODER = [] }, { TRANSLATION = [] }] = await Promise.all([
  import("./steps/bert.ts"),
  import("./steps/decoder.ts"),
  import("./steps/translation.ts"),
]);

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
const OWN: readonly Tour[] = [
  {
    name: "translation",
    title: say`From one language to another`,
    shows: say`The encoder reads, the decoder writes: which source word each target word looks at, and how one is chosen.`,
    ...{ follows: "", stack: "decoder", steps: TRANSLATION },
    suits: (names) => attends(names, ".cross_attention."),
  },
  {
    name: "decoder",
    title: say`Writing, word after word`,
    shows: say`Why no word sees the next one, what each word looks at, and how the one that follows is chosen.`,
    ...{ follows: "", stack: "decoder", steps: DECODER },
    suits: looksBack,
  },
  {
    name: "slides",
    title: say`The slides: attention, step by step`,
    shows: say`From words to vectors, queries, keys and values to the answer, as in Ulf Mertens’ slides “Masked language modeling visualized”.`,
    ...{ follows: say`the slides: `, stack: "", steps: [...INPUT, ...SCORES, ...VALUES, ...ANSWER] },
    suits: () => true,
  },
  {
    name: "bert",
    title: say`BERT and its tasks`,
    shows: say`What a model that reads in both directions is trained on, and what it is used for.`,
    ...{ follows: "", stack: "encoder", steps: BERT },
    suits: (names) => attends(names, "encoder.") && !names.run.model.stacks.some(({ side }) => side === "decoder"),
  },
];

/** Each source document has a tour in its order; `slides` is among the others. */
export const TOURS: readonly Tour[] = [
  ...OWN,
  {
    name: "notes",
    title: say`The lecture notes: Transformers and BERT`,
    shows: say`The stacks, attention, order, the decoder, then BERT and what it is used for, as in lecture notes 66.1 of AppliedRoots.`,
    ...{ follows: say`the lecture notes: `, stack: "", steps: retold(OWN, NOTES) },
    suits: (names) => attends(names, ""),
  },
  {
    name: "post",
    title: say`The post: the multi words mask matrix`,
    shows: say`All pairs of words, what is forbidden, and three readings of it, as in a blog post by Paul Xiong.`,
    ...{ follows: say`the mask-matrix post: `, stack: "", steps: POST },
    suits: (names) => vectorsOf(names).length > 0 && attends(names, ""),
  },
  {
    name: "guide",
    title: say`The illustrated guide to Transformers`,
    shows: say`The guide’s way of a text through encoder and decoder, to the words that are written.`,
    ...{ follows: say`the illustrated guide: `, stack: "", steps: retold(OWN, GUIDE) },
    suits: (names) => attends(names, ""),
  },
];

/** The texts of a tour by the keys of its steps: those of a step of another tour, with what is said otherwise here. */
export function textsOf(all: Readonly<Record<string, Texts>>, tour: Tour): Texts {
  const own = all[tour.name] ?? {};
  const text = ({ key, source }: Step): Text => {
    const [home = "", step = ""] = key.split(".");
    if (source === undefined) return own[key] ?? {};
    return { lacks: say`this model has no such part`, ...all[home]?.[step], source, ...own[key] };
  };
  return Object.fromEntries(tour.steps.map((step) => [step.key, text(step)]));
}

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
