/**
 * The changes made by hand, as the address holds them: `kind,field,field;kind,…`.
 *
 *     text,0,She likes the [MASK] better      the first text reads so (second, choice: second texts, candidates)
 *     target,0,0 12 55                        the decoder reads these tokens for the first text
 *     word,inputs,0,3,12                      token 12 at place 3 of the first sentence
 *     mask,inputs,0,3,4                       the word at place 3 is masked, token 4 written over it (-: none)
 *     forbid,ATTENTION,0,1,3,2                first sentence, head 1 (*: all): query 3 may not look at key 2; allow
 *     set,NAME,0.5,0.2.1                      a number, or `mean`, in the place of a cell; `*` = the whole axis
 *     patch,NAME,RUN,0.2.*                    the numbers of another run of the server in the place of a part
 *
 * In a text `~,` `~;` and `~~` are a comma, a semicolon and a tilde.
 */

import type { Step } from "../../record/step.ts";
import { say } from "../../words/say.ts";

export type Which = "text" | "second" | "choice" | "target";

/** One of the texts reads otherwise; an empty one is left out. */
export interface TextChange {
  readonly kind: "text";
  readonly which: Which;
  readonly row: number;
  readonly text: string;
}

export type Change = TextChange | Step;
/** A change of the numbers or of a token: the steps that Python's interventions are made of. */
export type { Step };

type Side = "inputs" | "decoder_inputs";

/** As many changes as a run may have. */
const MOST = 64;

export function formatChanges(changes: readonly Change[]): string {
  return changes.map((change) => fieldsOf(change).map(escaped).join(",")).join(";");
}

function fieldsOf(change: Change): string[] {
  switch (change.kind) {
    case "text":
      return [change.which, String(change.row), change.text];
    case "change_word":
      return ["word", change.where ?? "inputs", ...[change.sentence ?? 0, change.token, change.id].map(String)];
    case "mask_word": {
      const { where = "inputs", sentence = 0, token, mask_id = null } = change;
      return ["mask", where, String(sentence), String(token), mask_id === null ? "-" : String(mask_id)];
    }
    case "allow":
    case "forbid": {
      const { kind, attention, sentence = 0, head = null, query, key } = change;
      return [kind, attention, String(sentence), head === null ? "*" : String(head), String(query), String(key)];
    }
    case "replace":
      return ["set", change.where, String(change.by), cellText(change.cell ?? [])];
    case "patch":
      return ["patch", change.where, change.run, cellText(change.cell ?? [])];
  }
}

function cellText(cell: readonly (number | null)[]): string {
  return cell.map((index) => (index === null ? "*" : String(index))).join(".");
}

/** The changes of an address, and a sentence about each part of it that is none. */
export function parseChanges(text: string): { changes: Change[]; ignored: string[] } {
  const changes: Change[] = [];
  const ignored: string[] = [];
  if (text === "") return { changes, ignored };
  for (const part of split(text, ";")) {
    const change = read(split(part, ",").map(unescaped));
    if (change === null)
      ignored.push(say`The address names a change that this page does not know, “${shortened(part)}”.`);
    else if (changes.length === MOST) ignored.push(say`A run has at most ${MOST} changes; the others were left out.`);
    else changes.push(change);
    if (ignored.length > MOST) break;
  }
  return { changes, ignored: [...new Set(ignored)] };
}

function read(fields: readonly string[]): Change | null {
  const [kind, one = "", two = "", three = "", four = "", five = ""] = fields;
  const wanted: Readonly<Record<string, number>> = {
    text: 3,
    second: 3,
    choice: 3,
    target: 3,
    word: 5,
    mask: 5,
    set: 4,
    patch: 4,
  };
  if (fields.length !== (wanted[kind ?? ""] ?? 6)) return null;
  switch (kind) {
    case "text":
    case "second":
    case "choice":
    case "target":
      if (kind === "target" && !/^\d{1,7}( \d{1,7})*$/.test(two)) return null;
      return index(one) ? { kind: "text", which: kind, row: Number(one), text: two } : null;
    case "word":
      if (!side(one) || ![two, three, four].every(index)) return null;
      return { kind: "change_word", where: one, sentence: Number(two), token: Number(three), id: Number(four) };
    case "mask": {
      if (!side(one) || ![two, three].every(index) || !(four === "-" || index(four))) return null;
      const mask_id = four === "-" ? null : Number(four);
      return { kind: "mask_word", where: one, sentence: Number(two), token: Number(three), mask_id };
    }
    case "allow":
    case "forbid": {
      if (one === "" || ![two, four, five].every(index) || !(three === "*" || index(three))) return null;
      const head = three === "*" ? null : Number(three);
      return { kind, attention: one, sentence: Number(two), head, query: Number(four), key: Number(five) };
    }
    case "set": {
      const cell = three === "" ? [] : three.split(".");
      if (one === "" || !cell.every((each) => each === "*" || index(each))) return null;
      if (two !== "mean" && !NUMBER.test(two)) return null;
      const by = two === "mean" ? two : Number(two);
      return { kind: "replace", where: one, by, cell: cell.map((each) => (each === "*" ? null : Number(each))) };
    }
    case "patch": {
      const cell = three === "" ? [] : three.split(".");
      if (one === "" || !/^[0-9a-f]{32}$/.test(two) || !cell.every((each) => each === "*" || index(each))) return null;
      return {
        kind: "patch",
        where: one,
        run: two,
        cell: cell.map((each) => (each === "*" ? null : Number(each))),
      };
    }
    default:
      return null;
  }
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/;

function index(text: string): boolean {
  return /^\d{1,7}$/.test(text);
}

function side(text: string): text is Side {
  return text === "inputs" || text === "decoder_inputs";
}

function escaped(text: string): string {
  return text.replace(/[~,;]/g, (sign) => `~${sign}`);
}

function unescaped(text: string): string {
  return text.replace(/~([~,;])/g, "$1");
}

/** The parts between separators that are not escaped. */
function split(text: string, separator: string): string[] {
  const parts = [""];
  for (let place = 0; place < text.length; place++) {
    const sign = text[place] ?? "";
    if (sign === separator) parts.push("");
    else if (sign === "~") parts[parts.length - 1] += sign + (text[++place] ?? "");
    else parts[parts.length - 1] += sign;
  }
  return parts;
}

function shortened(text: string): string {
  return text.length > 48 ? `${text.slice(0, 48)}…` : text;
}

export function same(one: Change, two: Change): boolean {
  return formatChanges([one]) === formatChanges([two]);
}

/** Whether the later change makes the earlier one void: the same text, the same cell. */
export function replaces(later: Change, earlier: Change): boolean {
  const key = (change: Change): string => {
    switch (change.kind) {
      case "text":
        return `${change.which} ${change.row}`;
      case "change_word":
        return `word ${change.where} ${change.sentence} ${change.token}`;
      case "allow":
      case "forbid":
        return `look ${change.attention} ${change.sentence} ${change.head} ${change.query} ${change.key}`;
      case "replace":
      case "patch":
        return `set ${change.where} ${cellText(change.cell ?? [])}`;
      case "mask_word":
        return formatChanges([change]);
    }
  };
  return key(later) === key(earlier);
}

/** The list with one more change at its end, without those that it makes void; a text stays where it is. */
export function withChange(changes: readonly Change[], more: Change): Change[] {
  const again = more.kind === "text" && changes.some((each) => replaces(more, each));
  if (again) return changes.map((each) => (replaces(more, each) ? more : each));
  return [...changes.filter((each) => !replaces(more, each)), more];
}

/** The output of a sublayer, or those of all sublayers of a block, as `interventions.py` names them. */
export function outputs(path: string): string {
  return /(attention|feed_forward)$/.test(path) ? `${path}.output` : `${path}.*.output`;
}
