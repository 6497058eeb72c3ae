/** The text on the stage: its tokens, how many of them the run has read, and what was looked at in each step. */

import { parseChanges } from "../../../edit/changes/changes.ts";
import type { Node, Search } from "./search.ts";

export interface Line {
  /** All tokens, from the first that was given. */
  readonly ids: readonly number[];
  /** So many of them the run has read as they stand here: of these there is attention. */
  readonly covered: number;
  /** So many were given by the reader; the others were written. */
  readonly given: number;
  /** So many were there before this search: those that were given, and those that were kept. */
  readonly kept: number;
  /** Whether the text ends after its last token, or was cut at the most tokens; else nobody knows how it goes on. */
  readonly end: "ended" | "cut" | "open";
}

/** The tokens that the address wants the decoder to read; null where it leaves them to the model. */
export function targetIn(changes: string, row: number): number[] | null {
  const found = parseChanges(changes).changes.find((change) => {
    return change.kind === "text" && change.which === "target" && change.row === row;
  });
  return found?.kind === "text" ? found.text.split(" ").map(Number) : null;
}

/** How many tokens two texts have in common from their beginning. */
export function shared(one: readonly number[], two: readonly number[]): number {
  const most = Math.min(one.length, two.length);
  for (let place = 0; place < most; place++) if (one[place] !== two[place]) return place;
  return most;
}

export interface Wanted {
  /** What the run reads; null while it is fetched. */
  readonly read: readonly number[] | null;
  /** What the address wants to be read. */
  readonly target: readonly number[] | null;
  /** So many tokens the search was given in addition to the prompt. */
  readonly begun: number;
  /** The answer that is chosen among several of a search. */
  readonly answer: number;
  /** Whether a run of what the search wrote can be made: then it is shown where the run has read something else. */
  readonly live: boolean;
}

/**
 * What the address wants to be read, else the answer of the search where the run has read its beginning, or where another
 * one is chosen; else what the run has read.
 */
export function lineOf(search: Search | null, { read, target, begun, answer, live }: Wanted): Line {
  const last = search?.node(search.record.answers[answer] ?? search.record.answers[0]);
  const written = search === null || last === undefined ? null : search.readWhole(last);
  const own = read ?? [];
  const prompt = search?.record.prompt ?? [];
  const continues = written !== null && shared(written, own) === own.length;
  const other = answer > 0 || (live && shared(prompt, own) === prompt.length);
  const ids = target ?? (written !== null && (continues || other) ? written : own);
  const starts = shared(prompt, ids) === prompt.length;
  const kept = starts ? Math.max(1, prompt.length) : 1;
  const whole = written !== null && shared(written, ids) === ids.length && ids.length === written.length;
  const ended = last !== undefined && search?.record.ends?.includes(last.token) === true;
  const end = whole ? (ended ? "ended" : "cut") : "open";
  return { ids, covered: shared(ids, own), given: Math.max(1, kept - (starts ? begun : 0)), kept, end };
}

/** Whether a text of these tokens, or a run in which the decoder reads them, has chosen the node: it has all that stands before it. */
export function chose(search: Search, node: Node, ids: readonly number[]): boolean {
  const before = search.readBefore(node);
  return shared(before, ids) === before.length;
}

/** The step in which a node was chosen, counted by the tokens before it, less one. */
export function stepOf(search: Search, node: Node): number {
  return search.readBefore(node).length - 1;
}

/** The nodes of the first search that looked at this step of the text; of samples those of the text itself. */
export function nodesAt(
  searches: readonly Search[],
  step: number,
  ids: readonly number[],
  way?: Node,
): { readonly search: Search; readonly nodes: readonly Node[] } | null {
  for (const search of searches) {
    const nodes = search.record.nodes.filter((node) => stepOf(search, node) === step && chose(search, node, ids));
    if (nodes.length === 0 || (way !== undefined && search === searches[0] && !chose(search, way, ids))) continue;
    if (search.record.settings.method !== "sample") return { search, nodes };
    const mine = nodes.find((node) => node === way || node.token === ids[step + 1]) ?? nodes[0];
    return { search, nodes: nodes.filter(({ hypothesis }) => hypothesis === mine?.hypothesis) };
  }
  return null;
}

/** A part of 0 to 1 that a token has in a draw. */
export interface Part {
  readonly node: Node;
  readonly from: number;
  readonly size: number;
}

/** The parts of the candidates, in the order in which they lie. */
export function partsOf(nodes: readonly Node[]): Part[] {
  return nodes
    .flatMap((node): Part[] => {
      const from = node.start ?? node.draw?.[1];
      return from == null || node.share === null || node.share === 0 ? [] : [{ node, from, size: node.share }];
    })
    .sort((one, two) => one.from - two.from);
}

/** The hypotheses that a beam held after a step, the best first. */
export function rivalsAt(search: Search, step: number): Node[] {
  const [prompt, strong] = [search.record.prompt.length, ["kept", "answer", "hopeless"]];
  return search.record.nodes
    .filter((node) => node.step === step - prompt + 1 && strong.includes(node.fate))
    .sort((one, two) => two.total - one.total);
}

/** The strongest of some shares, which have so much of all of them together; none that is next to nothing. */
export function strongest(shares: readonly number[], part = 0.8, most = 10): number[] {
  const order = shares.map((_, key) => key).sort((one, two) => (shares[two] ?? 0) - (shares[one] ?? 0));
  const all = shares.reduce((sum, share) => sum + share, 0);
  const found: number[] = [];
  let sum = 0;
  for (const key of order) {
    if (found.length >= most || sum >= part * all || (shares[key] ?? 0) < 0.02) break;
    found.push(key);
    sum += shares[key] ?? 0;
  }
  return found;
}

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** A curve from a word to one it looks at: below both in the same row, else from the upper edge of the lower one. */
export function curve(from: Box, to: Box, row: number): string {
  const [ax, bx] = [from.x + from.w / 2, to.x + to.w / 2];
  if (Math.abs(from.y - to.y) < row / 2) {
    const y = Math.max(from.y + from.h, to.y + to.h);
    const down = y + Math.min(row * 0.55, 8 + Math.abs(ax - bx) * 0.12);
    return path([ax, from.y + from.h], [ax, down], [bx, down], [bx, to.y + to.h]);
  }
  const above = to.y < from.y;
  const ay = above ? from.y : from.y + from.h;
  const by = above ? to.y + to.h : to.y;
  const bend = Math.min(Math.abs(by - ay), row) * 0.7 * Math.sign(by - ay || 1);
  return path([ax, ay], [ax, ay + bend], [bx, by - bend], [bx, by]);
}

function path(...points: readonly (readonly [number, number])[]): string {
  const [start = "", ...others] = points.map((point) => point.map((each) => Math.round(each * 10) / 10).join(" "));
  return `M${start}C${others.join(" ")}`;
}
