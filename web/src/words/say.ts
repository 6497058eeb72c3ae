/**
 * The words of the page in its language. The English sentence in the code is the key: `web/words.mjs` collects all that
 * are marked by `say` and makes the table of a language from `web/words`.
 */

import type { Language } from "./language.ts";

type Chunk = { readonly language: Language };

/** What can be chosen: how each language calls itself, and its chunk. */
export const LANGUAGES: Readonly<Record<string, readonly [name: string, load?: () => Promise<Chunk>]>> = {
  en: ["English"],
  de: ["Deutsch", () => import("./de.ts")],
};

/** Under this name the browser keeps what was chosen. */
export const KEPT = "glassformer language";

/** What an address asks for; empty: nothing. */
export function languageIn(address: string): string {
  const asked = new URLSearchParams(address.replace(/^#/, "")).get("language") ?? "";
  return asked in LANGUAGES ? asked : "";
}

/** Whether this page has the words of a language: one that carries its own script has those that were asked for. */
export function hasLanguage(name: string): boolean {
  const carries = (id: string): boolean => document.querySelector(`[id^=part-${id}]`) !== null;
  return name === "en" || !carries("") || carries(`${name}-`);
}

function kept(): string {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

/** The language of the page, from its first word on: another one begins the page again. */
export const LANGUAGE = typeof document === "undefined" ? "en" : wanted();

function wanted(): string {
  const { dataset } = document.documentElement;
  const asked = languageIn(location.hash || (dataset["place"] ?? "")) || kept() || (dataset["language"] ?? "");
  return asked in LANGUAGES && hasLanguage(asked) ? asked : "en";
}

const language = await loaded();

async function loaded(): Promise<Language | null> {
  const load = LANGUAGES[LANGUAGE]?.[1];
  if (load === undefined) return null;
  try {
    const { language } = await load();
    document.documentElement.lang = LANGUAGE;
    document.documentElement.dir = language.direction;
    return language;
  } catch {
    return null; // the page in English is better than none
  }
}

/** What stands between thousands: a comma, if the language has nothing else. */
export const THOUSANDS = language?.thousands ?? ",";

type Plain = string | number | boolean | null | undefined;

/** A sentence in the language of the page. What is put into it may be an element; it is text if nothing is. */
export function say(parts: readonly string[], ...values: readonly Plain[]): string;
export function say<T extends readonly unknown[]>(
  parts: readonly string[],
  ...values: T
): (Exclude<T[number], Plain> | string)[];
export function say(parts: readonly string[], ...values: readonly unknown[]): unknown {
  const told = language?.said(parts, values) ?? parts.flatMap((part, at) => [part, values[at]]);
  const whole = told.map((part) => (typeof part === "object" && part !== null ? part : written(part)));
  return whole.some((part) => typeof part === "object") ? whole : whole.join("");
}

function written(part: unknown): string {
  return typeof part === "boolean" || part == null ? "" : String(part);
}

/** A sentence that the package sends, in the language of the page; what it has no words for stays as it is. */
export function heard(text: string): string {
  return language?.heard(text) ?? text;
}
