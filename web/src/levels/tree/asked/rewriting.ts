/** On a live page: a text is written, rewritten from one of its words, or gone back to. */

import { go, state } from "../../../address/state.ts";
import type { Session } from "../../../edit/session/session.ts";
import { isServed } from "../../../sources/served.ts";
import { say } from "../../../words/say.ts";
import { type Branch, branches, branchOf, continued, optionsOf, withBranch } from "../written/branches.ts";
import type { Line } from "../written/line.ts";
import { isStill, playing, QUIET, withOption, writing } from "../written/options.ts";
import { problem, searchFor } from "./searching.ts";

/** It is shown as long as it is true. */
export const TAKEN_BACK = say`What you changed by hand is taken back: the text was written without it.`;

export function isByHand(session: Session): boolean {
  return session.changes.some(({ kind }) => kind !== "text");
}

export interface Ask {
  /** Another text; left out: the one that is there. */
  readonly text?: string;
  readonly options: readonly string[];
  /** The step that is shown then; left out: the first that was not there before. */
  readonly step?: number;
  readonly plays?: boolean;
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
  const own = { ...QUIET, busy: true };
  writing.value = own;
  try {
    const found = await searchFor(source, text, ask.options);
    if (writing.value !== own) return false;
    if (state.peek().level !== "tree") {
      writing.value = QUIET;
      return false;
    }
    const branch = branchOf(continued(store, found.record.text), found, ask.options);
    if (branch !== null) branches.value = withBranch(branches.value, branch);
    const ids = branch?.ids ?? found.record.prompt;
    const step = ask.step ?? found.record.prompt.length - 1;
    show(session, session.row("text", row), found.record.text, ids, ask.options, step);
    playing.value = ask.plays === true && !isStill();
    return true;
  } catch (error) {
    if (writing.value !== own) return false;
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
  writing.value = isByHand(session) ? { ...QUIET, wrong: TAKEN_BACK } : QUIET;
  session.set([reads, { kind: "text", which: "target", row, text: ids.join(" ") }]);
  go({ level: "tree", picture: "words", options, at: [step] }, true);
}

/** Rewrites a text after a step, or from the word that is to be there on. */
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
  const options = optionsOf(branch, state.value.options);
  show(session, state.value.sentence, branch.search.record.text, branch.ids, options, step);
}
