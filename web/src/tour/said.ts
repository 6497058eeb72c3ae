/** Sentences with numbers of the run in them: each number knows which cell of which tensor it is. */

/** A number of the run as it stands in a sentence. */
export interface Shown {
  readonly text: string;
  readonly of: string;
  readonly name: string;
  readonly cell: readonly number[];
  readonly value: number;
}

/** A part of a sentence: plain, a word of the text, or a number of the run. */
export type Said = string | { readonly text: string; readonly of: string } | Shown;

type Put = Said | number | readonly Said[];

/** A sentence; a number that is no cell, such as a count, is put in as it is. */
export function say(strings: TemplateStringsArray, ...puts: readonly Put[]): Said[] {
  const parts: Said[] = [];
  strings.forEach((text, place) => {
    if (text !== "") parts.push(text);
    const put = puts[place];
    if (typeof put === "number") parts.push(put.toLocaleString("en"));
    else if (Array.isArray(put)) parts.push(...(put as readonly Said[]));
    else if (put !== undefined) parts.push(put as Said);
  });
  return parts;
}

/** `a`, `a and b`, `a, b and c`; of many the first ones. */
export function listed(parts: readonly Said[], most = 6): Said[] {
  const shown = parts.slice(0, most);
  const left = parts.length - shown.length;
  if (left > 0) shown.push(`${left.toLocaleString("en")} more`);
  return shown.flatMap((part, place): Said[] => {
    return place === 0 ? [part] : [place === shown.length - 1 ? " and " : ", ", part];
  });
}

/** The sentence as it is read aloud. */
export function aloud(parts: readonly Said[]): string {
  return parts.map((part) => (typeof part === "string" ? part : part.text)).join("");
}
