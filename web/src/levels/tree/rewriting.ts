/** On a live page: a text is written, rewritten from one of its words, or gone back to. */

import { signal } from "@preact/signals";
import { go, state } from "../../address/state.ts";
import type { Session } from "../../edit/session/session.ts";
import type { Store } from "../../run/store.ts";
import { isServed } from "../../sources/served.ts";
import { say } from "../../words/say.ts";
import { asksIn, type Branch, branches, optionsOf, withBranch } from "./branches.ts";
import { playing, problem, searchFor, withOption } from "./held.ts";
import type { Line } from "./line.ts";
import type { Search } from "./search.ts";

export interface Writing {
  readonly busy: boolean;
  /** Why it could not be written; what was there before stays. */
  readonly wrong: string;
  /** Asks for it once more. */
  readonly again: (() => void) | null;
}

const QUIET: Writing = { busy: false, wrong: "", again: null };

/** What is being written, or why it could not be. */
export const writing = signal<Writing>(QUIET);

export interface Ask {
  /** Another text; left out: the one that is there. */
  readonly text?: string;
  readonly options: readonly string[];
  /** The step that is shown then; left out: the first that was not there before. */
  readonly step?: number;
  readonly plays?: boolean;
}

/** What a branch continues: the same text of the same model. */
export function continued(store: Store, text: string): string {
  return JSON.stringify([store.names.run.title, text]);
}

export function isOf({ of }: Branch, store: Store): boolean {
  return of.startsWith(JSON.stringify([store.names.run.title]).slice(0, -1));
}

/** The branch of a search, and of one of its answers. */
export function branchOf(of: string, search: Search, options: readonly string[], answer = 0): Branch | null {
  const last = search.node(search.record.answers[answer]);
  return last === undefined ? null : { of, ids: search.readWhole(last), search, options: asksIn(options) };
}

/** Writes, shows what was written, and has its run made. */
export async function write(session: Session, ask: Ask): Promise<boolean> {
  const store = session.store.value;
  const { source } = store;
  const row = state.value.sentence;
  const text = ask.text ?? session.text("text", row) ?? "";
  if (!isServed(source)) return false;
  if (text.trim() === "") {
    writing.value = { ...QUIET, wrong: say`There is no text to begin with: write at least one word.` };
    return false;
  }
  writing.value = { ...QUIET, busy: true };
  try {
    const found = await searchFor(source, text, ask.options);
    const branch = branchOf(continued(store, found.record.text), found, ask.options);
    if (branch !== null) branches.value = withBranch(branches.value, branch);
    const ids = branch?.ids ?? found.record.prompt;
    const step = ask.step ?? found.record.prompt.length - 1;
    writing.value = QUIET;
    show(session, row, found.record.text, ids, ask.options, step);
    playing.value = ask.plays === true && !isStill();
    return true;
  } catch (error) {
    const again = (): void => void write(session, ask);
    writing.value = { ...QUIET, wrong: problem(error), again };
    return false;
  }
}

function show(
  session: Session,
  row: number,
  text: string,
  ids: readonly number[],
  options: readonly string[],
  step: number,
): void {
  const reads = { kind: "text", which: "text", row, text } as const;
  session.set([reads, { kind: "text", which: "target", row, text: ids.join(" ") }]);
  go({ level: "tree", picture: "words", options, at: [step] }, true);
}

/** Rewrites a text behind a step, or from the word that is to stand there on. */
export function rewrite(
  session: Session,
  line: Line,
  step: number,
  options: readonly string[],
  token?: number,
): Promise<boolean> {
  const at = Math.max(step, line.given - 1);
  const begins = [...line.ids.slice(line.given, at + 1), ...(token === undefined ? [] : [token])];
  return write(session, { options: withOption("begins", begins.join("."), options), step: at });
}

/** Goes back to a branch: nothing is written anew. */
export function goBack(session: Session, branch: Branch, step: number): void {
  writing.value = QUIET;
  const options = optionsOf(branch, state.value.options);
  show(session, state.value.sentence, branch.search.record.text, branch.ids, options, step);
}

/** Whether the system asks for less motion. */
export function isStill(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
