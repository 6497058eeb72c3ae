/** Two readings of a text compared word by word: what was changed, put in, left out, and where each word stands now. */

import { say } from "../../words/say.ts";

/** What stands in a text for a hidden word. */
export const MASK = "[MASK]";

/** A text by its words. */
export function wordsOf(text: string): string[] {
  const trimmed = text.trim();
  return trimmed === "" ? [] : trimmed.split(/\s+/);
}

/** A word as it was and as it is; null where it was put in or left out. */
export interface ComparedWord {
  readonly was: string | null;
  readonly now: string | null;
  /** Its place before and after; where it is absent, the place it would have. */
  readonly before: number;
  readonly after: number;
}

/** All words of two readings side by side; as many as can stay the same do. */
export function compared(before: readonly string[], after: readonly string[]): ComparedWord[] {
  // kept[i][j]: how many words the rests from i and from j have in common, in their order.
  const kept = Array.from({ length: before.length + 1 }, () => new Array<number>(after.length + 1).fill(0));
  const at = (i: number, j: number): number => kept[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      const row = kept[i];
      if (row !== undefined)
        row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const found: ComparedWord[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [was = null, now = null] = [before[i], after[j]];
    const same = was !== null && was === now;
    // Of two ways to the same end, a word that is exchanged for another counts as one change.
    const exchanged = was !== null && now !== null && at(i + 1, j + 1) >= Math.max(at(i + 1, j), at(i, j + 1));
    if (same || exchanged) found.push({ was, now, before: i++, after: j++ });
    else if (now === null || (was !== null && at(i + 1, j) >= at(i, j + 1)))
      found.push({ was, now: null, before: i++, after: j });
    else found.push({ was: null, now, before: i, after: j++ });
  }
  return found;
}

/** Those that are not as they were. */
export function differing(all: readonly ComparedWord[]): ComparedWord[] {
  return all.filter(({ was, now }) => was !== now);
}

/** The text with one of its differences taken back. */
export function takenBack(all: readonly ComparedWord[], back: ComparedWord): string {
  return all.flatMap((word) => (word === back ? word.was : word.now) ?? []).join(" ");
}

/** The words with other ones in the place of one; several words, or none, may take it. */
export function withWord(words: readonly string[], place: number, by: string): string {
  return [...words.slice(0, place), ...wordsOf(by), ...words.slice(place + 1)].join(" ");
}

/** Where each word of the first reading stands in the second; null where it was left out. */
export function movedTo(before: readonly string[], after: readonly string[]): (number | null)[] {
  return compared(before, after).flatMap(({ was, now, after: place }) => {
    if (was === null) return [];
    return [now === null ? null : place];
  });
}

/** A difference in words. */
export function told({ was, now }: ComparedWord): string {
  if (was === null) return say`“${now}” put in`;
  return now === null ? say`“${was}” left out` : `${was} → ${now}`;
}
