/** A language other than English, as its chunk has it. */
export interface Language {
  readonly direction: "ltr" | "rtl";
  /** What stands between thousands. */
  readonly thousands: string;
  /** The translations by `hashed` keys. */
  readonly sentences: Readonly<Record<string, string>>;
  /** Sentences of the package that have parts of their own: an expression that they match, and the translation. */
  readonly patterns: readonly (readonly [string, string])[];
  /** Forms of a word that a placeholder asks for by a letter, as `{0n}`. */
  readonly forms: Readonly<Record<string, (word: string) => string>>;
}
