/** A language other than English, from a table of its words: only the chunk of a language has this. */

export interface Language {
  readonly direction: "ltr" | "rtl";
  /** What stands between thousands. */
  readonly thousands: string;
  /** A sentence of the page: its parts and what is between them, in the order of the language. */
  said(parts: readonly string[], values: readonly unknown[]): unknown[];
  /** A sentence that the package sends. */
  heard(text: string): string;
}

export interface Table {
  readonly direction: Language["direction"];
  readonly thousands: string;
  /** The translations by `hashed` keys. */
  readonly sentences: Readonly<Record<string, string>>;
  /** Sentences of the package that have parts of their own: an expression that they match, and the translation. */
  readonly patterns: readonly (readonly [string, string])[];
  /** Forms of a word that a placeholder asks for by a letter, as `{0n}`. */
  readonly forms: Readonly<Record<string, (word: string) => string>>;
}

const PLACE = /\{(\d)(\w?)\}/;

export function languageOf({ direction, thousands, sentences, patterns, forms }: Table): Language {
  /** The texts of a sentence with the number and the form of a value after each but the last. */
  const split = new Map<readonly string[], readonly string[]>();
  const known = new Map<string, string>();

  function said(parts: readonly string[], values: readonly unknown[]): unknown[] {
    const found = split.get(parts) ?? (sentences[hashed(parts.join("{}"))] ?? numbered(parts)).split(PLACE);
    split.set(parts, found);
    return found.flatMap((text, at): unknown[] => {
      if (at % 3 === 0) return [text];
      if (at % 3 === 2) return [];
      const value = values[Number(text)];
      return [forms[found[at + 1] ?? ""]?.(String(value)) ?? value];
    });
  }

  function heard(text: string): string {
    const made = known.get(text) ?? sentences[hashed(text)] ?? matched(text) ?? text;
    known.set(text, made);
    return made;
  }

  function matched(text: string): string | null {
    for (const [pattern, translated] of patterns) {
      const parts = new RegExp(pattern, "su").exec(text);
      // What stands in quotation marks is a word of a run.
      const put = (_: string, quoted: string, at: string): string => {
        const part = parts?.[Number(at) + 1] ?? "";
        return quoted === "" ? heard(part) : quoted + part;
      };
      if (parts !== null) return translated.replace(/([„“]?)\{(\d)\}/g, put);
    }
    return null;
  }

  return { direction, thousands, said, heard };
}

/** A sentence without a translation, with the places of its values. */
function numbered(parts: readonly string[]): string {
  return parts.reduce((text, part, at) => `${text}{${at - 1}}${part}`);
}

/** FNV-1a, in 32 bits: a table of short keys is half as large as one of sentences. */
function hashed(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
