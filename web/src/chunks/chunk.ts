/** A part of the script that is not there from the start: a server sends it as a file, an exported page carries it. */

import { signal } from "@preact/signals";
import { problemOf } from "../sources/refused.ts";
import { say } from "../words/say.ts";

export class Chunk<Module> {
  /** What it gives; null until it is here. */
  readonly here = signal<Module | null>(null);
  /** Why it could not be had, in the browser's words; empty: nothing went wrong. */
  readonly wrong = signal("");
  readonly #fetch: () => Promise<Module>;
  #asked: Promise<Module> | null = null;

  constructor(fetch: () => Promise<Module>) {
    this.#fetch = fetch;
  }

  /** Fetched once. */
  load(): Promise<Module> {
    this.#asked ??= this.#load();
    return this.#asked;
  }

  async #load(): Promise<Module> {
    this.wrong.value = "";
    try {
      const [found] = await Promise.all([this.#fetch(), styled()]);
      // A part that an exported page lacks makes nothing.
      if (Object.keys(found as object).length === 0) throw new Error(say`not in this page`);
      this.here.value = found;
      return found;
    } catch (error) {
      this.#asked = null;
      this.wrong.value = problemOf(error);
      throw error;
    }
  }
}

let style: Promise<void> | null = null;

/** The styles of all chunks, which a live page fetches with the first of them; other pages have them. */
function styled(): Promise<void> {
  const theme = typeof document === "undefined" ? null : document.querySelector("link[rel=stylesheet]");
  if (theme === null) return Promise.resolve();
  style ??= new Promise((resolve, reject) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = "script/chunks.css";
    link.onload = () => resolve();
    link.onerror = () => {
      link.remove();
      style = null;
      reject(new Error(say`its styles did not come`));
    };
    theme.before(link);
  });
  return style;
}
