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
const KEPT = "glassformer language";

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

/** Notes what was chosen; a browser may keep nothing for a page from disk or in a frame. */
export function keepLanguage(name: string): void {
  try {
    localStorage.setItem(KEPT, name);
  } catch {}
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

/** A sentence in parts, and which value follows each part, perhaps in a form of its own. */
type Parts = readonly [texts: readonly string[], values: readonly (readonly [at: number, form: string])[]];

const found = new Map<readonly string[], Parts>();

function inParts(parts: readonly string[]): Parts {
  const known = found.get(parts);
  if (known !== undefined) return known;
  const translated = language?.sentences[hashed(parts.join("{}"))];
  const texts = translated?.split(/\{\d\w?\}/) ?? parts;
  const marks = translated?.match(/\{\d\w?\}/g) ?? parts.slice(1).map((_, at) => `{${at}}`);
  const made: Parts = [texts, marks.map((mark) => [Number(mark[1]), mark.slice(2, -1)])];
  found.set(parts, made);
  return made;
}

type Plain = string | number | boolean | null | undefined;

/** A sentence in the language of the page. What is put into it may be an element; it is text if nothing is. */
export function say(parts: readonly string[], ...values: readonly Plain[]): string;
export function say<T extends readonly unknown[]>(
  parts: readonly string[],
  ...values: T
): (Exclude<T[number], Plain> | string)[];
export function say(parts: readonly string[], ...values: readonly unknown[]): unknown {
  const [texts, order] = inParts(parts);
  const told: unknown[] = [texts[0]];
  order.forEach(([at, form], place) => {
    const value = values[at];
    told.push(language?.forms[form]?.(String(value)) ?? value, texts[place + 1]);
  });
  const whole = told.map((part) => (typeof part === "object" && part !== null ? part : written(part)));
  return whole.some((part) => typeof part === "object") ? whole : whole.join("");
}

function written(part: unknown): string {
  return typeof part === "boolean" || part == null ? "" : String(part);
}

const heardBefore = new Map<string, string>();

/** A sentence that the package sends, in the language of the page; what it has no words for stays as it is. */
export function heard(text: string): string {
  if (language === null || text === "") return text;
  const known = heardBefore.get(text);
  if (known !== undefined) return known;
  const made = language.sentences[hashed(text)] ?? matched(text, language) ?? text;
  heardBefore.set(text, made);
  return made;
}

function matched(text: string, { patterns }: Language): string | null {
  for (const [pattern, translated] of patterns) {
    const parts = new RegExp(pattern, "su").exec(text);
    if (parts !== null) return translated.replace(/\{(\d)\}/g, (_, at) => heard(parts[Number(at) + 1] ?? ""));
  }
  return null;
}

/** FNV-1a, in 32 bits: a table of short keys is half as large as one of sentences. */
function hashed(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}
