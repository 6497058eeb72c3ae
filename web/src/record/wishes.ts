/** What a server is asked for, and what it sends of a run before any number. */

import type { RunRecord, Side } from "./record.ts";
import type { Step } from "./step.ts";

/** Texts through a model; `seconds` are second texts of pairs or targets, `choices` the candidates of the only text. */
export interface Wish {
  readonly model: string;
  readonly texts: readonly string[];
  readonly seconds?: readonly string[] | null;
  readonly choices?: readonly string[] | null;
  /** What the decoder reads for each text, as tokens. */
  readonly target_ids?: readonly (readonly number[])[] | null;
  readonly steps?: readonly Step[];
}

/** A text to be translated, continued or replied to, and how; what is left out is as the model writes otherwise. */
export interface TreeWish {
  readonly model: string;
  readonly text: string;
  readonly beams?: number | undefined;
  readonly length_penalty?: number | undefined;
  readonly sample?: boolean;
  readonly temperature?: number | undefined;
  readonly top_k?: number | undefined;
  readonly top_p?: number | undefined;
  readonly n_best?: number | undefined;
  readonly max_tokens?: number | undefined;
  readonly seed?: number | undefined;
  /** Tokens with which what is written begins. */
  readonly begins?: readonly number[];
}

/** A model that can be chosen, with texts to begin with. */
export interface Offer {
  readonly name: string;
  readonly texts: readonly string[];
  readonly seconds: readonly string[] | null;
  readonly choices: readonly string[] | null;
}

/** Which of the texts of a row a token is of, and its characters; null for a token that was added. */
export type Span = readonly [which: number, start: number, end: number] | null;

/** What is known of a run before any number; see `page/server/overview.py`. */
export interface Overview extends RunRecord {
  readonly run: string;
  readonly asked: Wish;
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  readonly spans: Readonly<Record<Side, readonly (readonly Span[])[] | null>>;
  readonly attentions: Readonly<Record<string, number>>;
  readonly whole: boolean;
  readonly whole_weights: boolean;
  /** The verb by which the model writes. */
  readonly writes?: "translate" | "generate" | "chat" | null;
  /** The sections that the server works out. */
  readonly sections?: readonly string[];
}
