/** Steps of other tours in the order of a source document: each is found as in its own tour, in that tour's stack. */

import type { Names } from "../../formulas/names.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Step } from "../step.ts";

export interface Home {
  readonly name: string;
  readonly stack: "" | "encoder" | "decoder";
  readonly steps: readonly Step[];
  suits(names: Names): boolean;
}

/** `places`: where the document has what a step shows, by the tour and the key of the step: `slides.cells`. */
export function retold(homes: readonly Home[], places: Readonly<Record<string, string>>): Step[] {
  return Object.entries(places).flatMap(([key, source]): Step[] => {
    const [name, own] = key.split(".");
    const home = homes.find((each) => each.name === name);
    // A page does not carry the steps of a tour that does not suit its run.
    if (home?.steps.length === 0) return [];
    const step = home?.steps.find((each) => each.key === own);
    if (home === undefined || step === undefined) throw new Error(say`no tour has the step ${key}`);
    const there = (s: Scout): Scout => s.beside(home.stack);
    return [
      {
        key,
        source,
        lacks: (s) => !home.suits(s.names) || step.lacks?.(there(s)) === true,
        reads: (s) => step.reads?.(there(s)) ?? [],
        find: (s) => step.find(there(s)),
      },
    ];
  });
}

/** AppliedRoots' lecture notes, by the time in the recording. */
export const NOTES: Readonly<Record<string, string>> = {
  "translation.stacks": "05:08, 07:04",
  "slides.forward": "12:26",
  "slides.embedding": "13:46",
  "translation.reads": "14:28",
  "slides.goal": "16:24, 19:09",
  "slides.tables": "20:38",
  "slides.query": "20:38",
  "slides.key": "20:38",
  "slides.cells": "26:01",
  "slides.scores": "26:01",
  "slides.scaled": "26:01",
  "slides.softmax": "26:01, 34:51",
  "slides.value": "26:01",
  "slides.mixing": "26:01",
  "slides.product": "31:52, 40:55",
  "slides.merge": "42:35",
  "slides.recap": "44:42",
  "slides.position": "55:48",
  "slides.sum": "55:48",
  "slides.residual": "1:01:04",
  "slides.norm": "1:01:04",
  "translation.handed": "07:04, 1:03:10",
  "translation.triangle": "1:03:10",
  "translation.asks": "1:03:10",
  "translation.answers": "1:03:10",
  "translation.looks": "1:03:10",
  "slides.stack": "1:10:03",
  "translation.candidates": "1:11:05",
  "translation.chosen": "1:11:05",
  "translation.append": "1:03:10",
  "translation.loss": "51:28, 1:11:05",
  "bert.sizes": "1:30:46",
  "bert.pieces": "1:35:46",
  "bert.first": "1:35:46",
  "bert.label": "1:35:46",
  "bert.tuning": "1:35:54",
  "bert.both": "1:37:47",
  "bert.chosen": "1:42:05",
  "bert.looks": "1:42:05",
  "bert.guess": "1:42:05",
  "bert.loss": "1:42:05",
  "bert.kinds": "1:44:11",
  "bert.next": "1:44:11",
  "bert.ways": "1:44:46",
  "bert.features": "1:47:45",
  "slides.end": "",
};

/** The illustrated guide, by its headings. */
export const GUIDE: Readonly<Record<string, string>> = {
  "decoder.start": "Attention Mechanism",
  "decoder.far": "Attention Mechanism",
  "translation.stacks": "Transformer Model",
  "slides.embedding": "Input Embeddings",
  "slides.position": "Positional Encoding",
  "slides.sum": "Positional Encoding",
  "slides.goal": "Multi-Headed Attention",
  "slides.search": "Query, Key, and Value Vectors",
  "slides.tables": "Query, Key, and Value Vectors",
  "slides.cells": "Dot Product of Query and Key",
  "slides.scores": "Dot Product of Query and Key",
  "slides.scaled": "Scaling Down the Attention Scores",
  "slides.softmax": "Softmax of the Scaled Scores",
  "slides.mixing": "Multiply Softmax Output with Value vector",
  "slides.product": "Computing Multi-headed Attention",
  "slides.merge": "Computing Multi-headed Attention",
  "slides.residual": "The Residual Connections",
  "slides.norm": "The Residual Connections",
  "slides.forward": "The Residual Connections",
  "slides.stack": "Encoder Wrap-up",
  "translation.handed": "Encoder Wrap-up",
  "translation.shifted": "Decoder Layer",
  "decoder.ahead": "Decoders First Multi-Headed Attention",
  "decoder.triangle": "Look-Ahead Mask",
  "translation.asks": "Decoder Second Multi-Headed Attention",
  "translation.answers": "Decoder Second Multi-Headed Attention",
  "translation.matrix": "Decoder Second Multi-Headed Attention",
  "decoder.candidates": "Linear Classifier and Final Softmax",
  "decoder.chosen": "Linear Classifier and Final Softmax",
  "decoder.append": "Linear Classifier and Final Softmax",
  "decoder.stops": "Linear Classifier and Final Softmax",
  "slides.end": "",
};
