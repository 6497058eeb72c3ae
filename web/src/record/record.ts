/** What a page knows of a run besides its numbers, as `glassformer/page/sections/record.py` writes it. */

import type { Step } from "./step.ts";

export interface Operand {
  readonly name: string;
  readonly axes: string;
}

export type Setting = number | string | boolean;

/** A rule by its name, with its operands (one, or several by role) and its settings. */
export interface Rule {
  readonly rule: string;
  readonly [field: string]: Operand | Setting | Readonly<Record<string, Operand>>;
}

export interface Formula {
  readonly name: string;
  readonly axes: string;
  readonly rule: Rule;
  readonly tokens: Side;
  readonly keys: Side;
  readonly unit: string;
  readonly title: string;
  readonly extra: boolean;
  readonly words: string;
  readonly mathml: string;
}

export type Side = "inputs" | "decoder_inputs";

export interface Words {
  readonly inputs: readonly (readonly string[])[];
  readonly decoder_inputs: readonly (readonly string[])[];
  readonly vocabulary: readonly string[];
  readonly labels: readonly string[];
  readonly candidates: readonly string[];
  readonly answers: readonly (readonly [number, number, string])[];
  /** The vocabulary of the inputs, where they have one of their own. */
  readonly source_vocabulary?: readonly string[];
  /** The id of the token that closes a text, by side. */
  readonly closing?: Readonly<Partial<Record<Side, number>>>;
  /** What becomes of the scores of labels. */
  readonly after_scores?: readonly string[];
}

export interface Honesty {
  readonly holds: boolean;
  readonly watched: number;
  readonly limit: number;
  readonly traced_in: string;
  readonly text: string;
  /** The run has changes by hand, and was measured before them. */
  readonly before_changes?: boolean;
}

export interface StackSizes {
  readonly side: "encoder" | "decoder";
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
}

export interface RunRecord {
  readonly format: number;
  readonly title: string;
  readonly model: { readonly family: string; readonly parameters: number; readonly stacks: readonly StackSizes[] };
  readonly precision: "float32" | "float64";
  readonly error_limit: number;
  readonly words: Words;
  readonly scored_at: readonly number[] | null;
  readonly places: readonly (readonly [number, number])[];
  readonly formulas: readonly Formula[];
  readonly facts: Readonly<Record<string, { readonly axes: readonly string[]; readonly side: string }>>;
  readonly weights: Readonly<Record<string, readonly number[]>>;
  readonly shared: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly changes: string;
  readonly honesty: Honesty | null;
  /** Why each tensor that the page does not carry is left out. */
  readonly left_out: Readonly<Record<string, "limit" | "not saved" | "rows">>;
  /** The rows that the page has of the weights of which it has not all. */
  readonly rows: Readonly<Record<string, readonly number[]>>;
  /** The tensors of which the page has the steps from their formulas, with the numbers of the places that it is not sure of. */
  readonly unsure: Readonly<Record<string, { readonly at: readonly number[]; readonly value: readonly number[] }>>;
  readonly limit: number;
  /** Of a page without a model, what its mask workshop begins with. */
  readonly options?: readonly string[];
  readonly editing?: Editing | null;
  /** What the source documents show, to compare with the run's own numbers. */
  readonly documents?: Documents;
  readonly corrections?: readonly Correction[];
  /** Words that were hidden; each token has its place among the scored ones and its id. */
  readonly expected?: readonly { readonly word: string; readonly tokens: readonly (readonly [number, number])[] }[];
  readonly vectors?: VectorsRecord;
}

/** Layers by number (−1: the words alone) with what each is multiplied with; `concat`: they stand side by side. */
export interface Strategy {
  readonly layers: readonly (readonly [layer: number, share: number])[];
  readonly concat: boolean;
}

/** Which tensors are the layers, as `page/sections/vectors.py` writes it. */
export interface VectorsRecord {
  readonly layers: readonly string[];
  readonly word: string | null;
  readonly strategies: Readonly<Record<string, Strategy>>;
}

/** Where the documents that `said_by` names are imprecise; `about`: endings of names of tensors, and kinds of models. */
export interface Correction {
  readonly number: string;
  readonly sentence: string;
  readonly said_by: string;
  readonly about: readonly string[];
}

/** What a picture of a document prints: see `page/documents.toml`. */
export interface Quoted {
  readonly text: string;
  readonly second?: string;
  readonly shares: Readonly<Record<string, number>>;
  readonly source: string;
  readonly picture: string;
  /** What these numbers are, where they are no shares of labels. */
  readonly told?: string;
  readonly lacks: string;
  readonly make: readonly string[];
}

/** The sizes of a published model. */
export interface Sizes {
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly feed_forward: number;
  readonly vocabulary: number;
  readonly positions: number;
  readonly segments: number;
}

/** Scores that a document prints, and what it prints as their weights. */
export interface PrintedScores {
  readonly document: string;
  readonly queries: readonly string[];
  readonly keys: readonly string[];
  readonly scores: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
}

export interface Documents {
  readonly pictures: Readonly<Record<string, Quoted>>;
  readonly sizes: readonly Sizes[];
  readonly scores?: readonly PrintedScores[];
  /** Which share of the tokens is chosen in pre-training, and what becomes of those. */
  readonly masking: Readonly<Record<"rate" | "mask" | "random" | "keep", number>>;
}

export const FORMAT = 1;

/** What a page needs to read other words and to write its run as Python; see `page/sections/editing.py`. */
export interface Editing {
  /** Python lines after which `model` is the model. */
  readonly loads: readonly string[];
  /** The command that opens the run live. */
  readonly command: string;
  /** The texts as they were given; null where the run was made from tokens. */
  readonly texts: readonly string[] | null;
  readonly seconds: readonly string[] | null;
  readonly choices: readonly string[] | null;
  /** What the decoder reads, where that was given as tokens. */
  readonly target_ids?: readonly (readonly number[])[] | null;
  /** Whether a text is words of the vocabulary with blanks between them. */
  readonly by_word: boolean;
  /** The token that is written over a masked word. */
  readonly mask_id: number | null;
  /** Whether a side reads the mark of a masked word, not only its token. */
  readonly marks: Readonly<Record<Side, boolean>>;
  /** Whether the vocabulary is scored at the masked words or, without any, everywhere. */
  readonly scored_by_masks: boolean;
  /** The formulas that are others when these facts are given too. */
  readonly otherwise: readonly { readonly given: readonly string[]; readonly formulas: readonly Formula[] }[];
  /** The changes that were made in Python. */
  readonly steps: readonly Step[];
}
