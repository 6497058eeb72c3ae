/** The answers to a quiz, as the address has them: `1c,2a,checked,was4`. */

/** What one person has answered. */
export interface Sheet {
  /** The letter that was chosen for each question, by its number from 1. */
  readonly chosen: ReadonlyMap<number, string>;
  /** Whether the answers are shown. */
  readonly checked: boolean;
  /** How many were right the time before; null: this is the first time. */
  readonly before: number | null;
}

export const LETTERS = "abcd";

/** Reads it from the options of an address; what cannot be read is left out. */
export function sheetIn(options: readonly string[]): Sheet {
  const chosen = new Map<number, string>();
  let before: number | null = null;
  for (const option of options) {
    const answer = /^([1-9]\d?)([a-d])$/.exec(option);
    if (answer !== null) chosen.set(Number(answer[1]), answer[2] ?? "");
    const was = /^was(\d{1,2})$/.exec(option);
    if (was !== null) before = Number(was[1]);
  }
  return { chosen, checked: options.includes("checked"), before };
}

export function optionsOf({ chosen, checked, before }: Sheet): string[] {
  const answers = [...chosen].sort(([one], [two]) => one - two).map(([number, letter]) => `${number}${letter}`);
  return [...answers, ...(checked ? ["checked"] : []), ...(before === null ? [] : [`was${before}`])];
}

/** The numbers of the questions that were answered wrongly, or not at all. */
export function wrongIn({ chosen }: Sheet, right: readonly string[]): number[] {
  return right.flatMap((letter, at) => (chosen.get(at + 1) === letter ? [] : [at + 1]));
}

/** A text with the words between asterisks apart: every second part was between them. */
export function partsOf(text: string): string[] {
  return text.split(/\*([^*]+)\*/);
}
