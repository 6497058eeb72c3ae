/** Sentences with numbers of the run in them: each number knows which cell of which tensor it is. */

import { grouped } from "../numbers/written.ts";
import { say } from "../words/say.ts";

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

/** What stands where a text has a name in braces; a number that is no cell, such as a count, is written as it is. */
export type Put = Said | number | readonly Said[] | undefined;
export type Puts = Readonly<Record<string, Put>>;

/** A text with what is put into it. */
export function filled(text: string, puts: Puts): Said[] {
  return text.split(/\{(\w+)\}/).flatMap((part, place): Said[] => {
    if (place % 2 === 0) return part === "" ? [] : [part];
    const put = puts[part];
    if (put === undefined) throw new Error(say`the tour has nothing to put for ${part} into: ${text}`);
    if (typeof put === "number") return [Number.isInteger(put) ? grouped(put) : put.toLocaleString("en")];
    return Array.isArray(put) ? [...(put as readonly Said[])] : [put as Said];
  });
}

/** `a`, `a and b`, `a, b and c`; of many the first ones. */
export function listed(parts: readonly Said[], most = 6): Said[] {
  const shown = parts.slice(0, most);
  const left = parts.length - shown.length;
  if (left > 0) shown.push(say`${grouped(left)} more`);
  return shown.flatMap((part, place): Said[] => {
    return place === 0 ? [part] : [place === shown.length - 1 ? say` and ` : ", ", part];
  });
}

/** Parts with a sign between them; a part may have several itself. */
export function joined(parts: readonly (Said | readonly Said[])[], sign: string): Said[] {
  return parts.flatMap((part, place): Said[] => {
    const own = (Array.isArray(part) ? part : [part]) as readonly Said[];
    return place === 0 ? [...own] : [sign, ...own];
  });
}
