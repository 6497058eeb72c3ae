/** What makes a run with changes: the server of a page, or the page itself (`in_page.ts`), where the model is small. */

import type { Offer } from "../../record/wishes.ts";
import type { Source } from "../../sources/source.ts";
import type { Change, Step, TextChange, Which } from "../changes/changes.ts";

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
  make(model: string, changes: readonly Change[], stop: AbortSignal): Promise<Made>;
  /** The same where nothing has to be waited for; null where something has. */
  atOnce?(changes: readonly Change[]): Made | null;
}

/** The texts with those that read otherwise now; one more at the end is one more text, an empty one is left out. */
export function rewritten(before: readonly string[], changes: readonly TextChange[], which: Which): string[] {
  const found = [...before];
  for (const change of changes) {
    if (change.which === which && change.row <= found.length) found[change.row] = change.text;
  }
  return found.filter((text) => text.trim() !== "");
}
