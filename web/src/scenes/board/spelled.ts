/** Letters that the fonts of this machine lack. */

/** Nobody's letter: every font draws the box for it that it draws for all that it lacks. */
const LACKING = "\u{10fffd}";

/** A word in which letters that this machine has no picture of are written by their numbers: `U+2E3B`. */
export function spelled(word: string, measure: (letter: string) => number): string {
  const box = measure(LACKING);
  return word.replace(/[\u2000-\u{10ffff}]/gu, (letter) => {
    return measure(letter) === box ? `U+${letter.codePointAt(0)?.toString(16).toUpperCase()}` : letter;
  });
}
