/** What makes a run with changes: the server of a page, or the page itself (`in_page.ts`), where the model is small. */

import type { RunRecord } from "../../record/record.ts";
import type { Offer } from "../../record/wishes.ts";
import type { Source } from "../../sources/source.ts";
import type { Change, Step, Which } from "../changes/changes.ts";

/** A run with changes; `steps` are those that set its numbers, `refused` a sentence for each that could not be made. */
export interface Made {
  readonly source: Source;
  readonly steps: readonly Step[];
  readonly refused: readonly string[];
}

/** How words can be changed: as parts of a text, token by token, or not at all. */
export type WordsBy = "text" | "token" | "none";

export interface Engine {
  readonly words: WordsBy;
  /** Why nothing can be changed here; empty where it can. */
  readonly why: string;
  /** The models that can be chosen, those of the server. */
  readonly offers: readonly Offer[];
  /** The texts before any change, of one kind; null where they are not known. */
  texts(model: string, which: Which): readonly string[] | null;
  /** The row that a text has in a change, where texts that are left out count too; without it none can be left out. */
  row?(model: string, which: Which, changes: readonly Change[], row: number): number;
  /** The changes of `after` that were made `before`, in their texts where others are left out now. */
  shifted?(model: string, before: readonly Change[], after: readonly Change[], run: RunRecord): readonly Change[];
  make(model: string, changes: readonly Change[], stop: AbortSignal): Promise<Made>;
  /** The same where nothing has to be waited for; null where something has. */
  atOnce?(changes: readonly Change[]): Made | null;
}

/** Whether a text is not left out. */
export const hasWords = (text: string): boolean => text.trim() !== "";

/** The texts with those that read otherwise now; one more at the end is one more text, an empty one is left out. */
export function rewritten(
  before: readonly string[],
  changes: readonly Change[],
  which: Which,
  left = hasWords,
): string[] {
  const found = [...before];
  for (const change of changes) {
    if (change.kind === "text" && change.which === which && change.row <= found.length) found[change.row] = change.text;
  }
  return found.filter(left);
}
