/** What was written so far, rewritten from some of its words: branches that one can go back to. */

import { signal } from "@preact/signals";
import type { Store } from "../../../run/store.ts";
import { shared } from "./line.ts";
import type { Search } from "./search.ts";

export interface Branch {
  /** The model and the text that it continues. */
  readonly of: string;
  readonly ids: readonly number[];
  readonly search: Search;
  /** What of the address asks for it. */
  readonly options: readonly string[];
}

/** What of the address says how a text is written; the rest says how it is shown. */
const ASKS = ["temperature", "seed", "top-k", "top-p", "draw", "beams", "alpha", "texts", "tokens", "begins"];

export function asksIn(options: readonly string[]): string[] {
  return options.filter((each) => ASKS.includes(each.split("=")[0] ?? ""));
}

/** The options of the address with those of a branch. */
export function optionsOf(branch: Branch, options: readonly string[]): string[] {
  return [...options.filter((each) => !asksIn([each]).includes(each)), ...branch.options];
}

/** All that were written on this page since it was opened. */
export const branches = signal<readonly Branch[]>([]);
const MOST = 40;

/** Those with one more, if it is none of them; the oldest ones are forgotten. */
export function withBranch(all: readonly Branch[], more: Branch): readonly Branch[] {
  const same = (each: Branch): boolean => each.of === more.of && each.ids.join() === more.ids.join();
  return all.some(same) ? all : [...all, more].slice(-MOST);
}

export interface Row {
  readonly branch: Branch;
  /** The first token that no branch before it has. */
  readonly from: number;
  /** How deep it lies: 0 for the first, 1 for one that leaves it. */
  readonly depth: number;
}

/** The branches of a text, each after the one it leaves. */
export function rowsOf(all: readonly Branch[], of: string): Row[] {
  const rows: Row[] = [];
  for (const branch of all) {
    if (branch.of !== of) continue;
    const left = rows.map((row) => shared(row.branch.ids, branch.ids));
    const from = Math.max(0, ...left);
    const parent = rows[left.indexOf(from)];
    rows.push({ branch, from, depth: parent === undefined ? 0 : parent.depth + 1 });
  }
  return rows;
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
