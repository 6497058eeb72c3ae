/** What a server answers where it cannot do what was asked. */

import { heard, LANGUAGE, say } from "../words/say.ts";

/** The server's sentence about what it cannot do. */
export class RefusedError extends Error {
  readonly status: number;
  readonly wanted: string;
  readonly got: string;
  readonly todo: string;

  constructor(status: number, told: { text: string; wanted: string; got: string; do: string }) {
    super(told.text);
    this.status = status;
    this.wanted = told.wanted;
    this.got = told.got;
    this.todo = told.do;
  }

  /** What it cannot do, and what to do instead: in another language made of its parts, as Python makes the message. */
  get sentence(): string {
    const { wanted, got, todo } = this;
    if (LANGUAGE === "en" || wanted === "") return this.message;
    const reason = wanted.startsWith("cannot ");
    const found = got === "" ? "" : reason ? `: ${heard(got)}` : say`; got ${heard(got)}`;
    return `${heard(wanted)}${found}${todo === "" ? "" : `; ${heard(todo)}`}`;
  }
}

/** What went wrong, in a sentence. */
export function problemOf(error: unknown): string {
  if (error instanceof RefusedError) return error.sentence;
  return error instanceof Error ? error.message : String(error);
}
