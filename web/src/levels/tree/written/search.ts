/** The search for an answer as the page has it: `look/texts/tree.py` writes it. */

import { written } from "../../../numbers/letters.ts";
import { say } from "../../../words/say.ts";

export type Fate =
  | "kept"
  | "answer"
  | "hopeless"
  | "below"
  | "ended"
  | "repeated"
  | "wordless"
  | "forbidden"
  | "unlikely"
  | "undrawn"
  | "cut";

export interface Node {
  readonly number: number;
  readonly step: number;
  readonly parent: number | null;
  readonly token: number;
  readonly log_probability: number;
  /** The sum of the log-probabilities up to here, with what the settings change in them. */
  readonly total: number;
  /** What it is worth as an answer that is complete here. */
  readonly score: number;
  readonly penalty: number;
  readonly coverage: number;
  readonly rank: number;
  readonly hypothesis: number;
  readonly fate: Fate;
  readonly finished: boolean;
  /** The probability of being drawn, and the number that was drawn with the part of 0 to 1 that this token has. */
  readonly share: number | null;
  readonly draw: readonly [number, number, number] | null;
  /** Where the part of 0 to 1 begins that this token has in the draw. */
  readonly start?: number | null;
}

export interface Settings {
  readonly method: "greedy" | "sample" | "beam";
  readonly beams: number;
  readonly length_penalty: number;
  readonly length_penalty_form: "gnmt" | "power";
  readonly coverage_penalty: number;
  readonly temperature: number;
  readonly top_k: number | null;
  readonly top_p: number | null;
  readonly seed: number;
}

export interface SearchRecord {
  readonly format: number;
  readonly settings: Settings;
  readonly text: string;
  readonly answer: string;
  /** The turns that a reply was written to; none for another text. */
  readonly turns?: readonly string[];
  /** Tokens that end an answer. */
  readonly ends?: readonly number[];
  /** The most tokens that the decoder reads; null for any number. */
  readonly most?: number | null;
  readonly source: readonly number[] | null;
  /** What the decoder was given before the first step. */
  readonly prompt: readonly number[];
  /** Tokens that no answer has: their probability is shared among the others. */
  readonly never: readonly number[];
  readonly texts: Readonly<Record<string, string>>;
  /** The last node of each answer, the best first. */
  readonly answers: readonly number[];
  readonly nodes: readonly Node[];
}

export const FORMAT = 1;

/** How the end of a line is written. */
const LINE_END = "↵";

/** Nodes from which the search went on, or that are answers. */
export function isStrong({ fate }: Node): boolean {
  return fate === "kept" || fate === "answer";
}

export class Search {
  readonly record: SearchRecord;
  /** The nodes on the way to the best answer. */
  readonly best: ReadonlySet<number>;
  /** Of an answer its rank, from 1, by its last node. */
  readonly ranks: ReadonlyMap<number, number>;
  /** All nodes, step by step: those that went on first, then the others. */
  readonly rows: readonly Node[];
  /** The same one below the other; what several samples did not draw after the same words is shown once. */
  readonly columns: readonly (readonly Node[])[];
  readonly #children = new Map<number | null, Node[]>();

  constructor(record: SearchRecord) {
    if (record.format !== FORMAT)
      throw new Error(say`this page reads searches of format ${FORMAT}, not ${record.format}`);
    this.record = record;
    this.ranks = new Map(record.answers.map((number, rank) => [number, rank + 1]));
    const first = record.nodes[record.answers[0] ?? -1];
    this.best = new Set(first === undefined ? [] : this.path(first).map(({ number }) => number));
    const columns: Node[][] = [];
    const order = (node: Node): number => (this.best.has(node.number) ? 0 : isStrong(node) ? 1 : 2);
    for (const node of [...record.nodes].sort((one, two) => order(one) - order(two) || two.total - one.total)) {
      const column = columns[node.step] ?? [];
      columns[node.step] = column;
      column.push(node);
      const children = this.#children.get(node.parent);
      if (children === undefined) this.#children.set(node.parent, [node]);
      else children.push(node);
    }
    for (const column of columns) {
      column.sort((one, two) => Number(isStrong(two)) - Number(isStrong(one)) || two.total - one.total);
    }
    this.rows = columns.flat();
    this.columns = columns.map((column) => {
      const seen = new Set<string>();
      return column.filter((node) => {
        const key = `${node.parent} ${node.token}`;
        const again = seen.has(key) && !isStrong(node);
        seen.add(key);
        return !again;
      });
    });
  }

  node(number: number | undefined): Node | undefined {
    return number === undefined ? undefined : this.record.nodes[number];
  }

  /** The nodes from the first step to this one. */
  path(node: Node): Node[] {
    const found = [node];
    for (let at: Node | undefined = node; at !== undefined; ) {
      at = at.parent === null ? undefined : this.record.nodes[at.parent];
      if (at !== undefined) found.unshift(at);
    }
    return found;
  }

  /** What was looked at after a node, or first of all: on the best way first, then what went on. */
  children(number: number | null): readonly Node[] {
    return this.#children.get(number) ?? [];
  }

  /** What is in hand before anything is chosen: the first word of the best way, where the picture begins. */
  get first(): Node | undefined {
    return this.children(null)[0];
  }

  text(node: Node): string {
    return this.record.texts[String(node.token)] ?? String(node.token);
  }

  /** The word of a node as it is drawn. */
  word(node: Node): string {
    const text = this.text(node).replaceAll("\n", LINE_END);
    return written(text.trim() || text.replaceAll(" ", "␣"));
  }

  /** The texts up to a node, one after the other. */
  textUpTo(node: Node): string {
    return written(
      this.path(node)
        .filter(({ finished, token }) => !finished || !/^<.*>$/.test(this.record.texts[String(token)] ?? ""))
        .map((each) => this.text(each))
        .join("")
        .trim()
        .replaceAll("\n", LINE_END),
    );
  }

  /** What the decoder reads so that this node is what it chooses next. */
  readBefore(node: Node): number[] {
    return [
      ...this.record.prompt,
      ...this.path(node)
        .slice(0, -1)
        .map(({ token }) => token),
    ];
  }

  /** What the decoder reads in a run of this node: an end is not read. */
  readWith(node: Node): number[] {
    return [...this.readBefore(node), ...(node.finished ? [] : [node.token])];
  }

  /** All that was written up to a node that ends an answer: its last token too, where that is a word. */
  readWhole(node: Node): number[] {
    const end = this.record.ends?.includes(node.token) === true;
    return [...this.readBefore(node), ...(end ? [] : [node.token])].slice(0, this.record.most ?? undefined);
  }

  /** The node that a key leads to: its parent, its best child, or the one above or below in the same step. */
  next(node: Node, key: string): Node | undefined {
    if (key === "ArrowLeft") return this.node(node.parent ?? undefined);
    if (key === "ArrowRight") return this.children(node.number)[0];
    const column = this.columns[node.step] ?? [];
    const at = column.indexOf(node);
    if (key === "ArrowUp") return column[at - 1];
    if (key === "ArrowDown") return column[at + 1];
    if (key === "Home") return this.columns[0]?.[0];
    if (key === "End") return this.node(this.record.answers[0]);
    return undefined;
  }

  /** Why a node did not go on, or what it is, in a sentence. */
  why(node: Node): string {
    const { settings } = this.record;
    const rank = this.ranks.get(node.number);
    switch (node.fate) {
      case "kept":
        return settings.method === "beam" ? say`It is among the best of its step, and goes on.` : say`It was chosen.`;
      case "answer":
        return rank === undefined
          ? say`A complete answer, but others score higher.`
          : settings.method === "beam"
            ? say`Complete: answer ${rank} of ${this.ranks.size}, by score.`
            : say`Complete: an answer.`;
      case "hopeless":
        return say`Given up: however it went on, its score could not reach that of the answers found so far.`;
      case "below": {
        const least = (this.columns[node.step] ?? []).filter(({ fate }) => fate === "kept" || fate === "hopeless");
        return say`Not kept: its total is below those of the ${least.length} that go on.`;
      }
      case "ended":
        return say`It ends here, with a score below the best answers.`;
      case "repeated":
        return say`Another group of beams has found it already.`;
      case "wordless":
        return say`It ends without the words that were asked for.`;
      case "forbidden":
        return say`Forbidden: by a word, a repetition or a length that was asked for.`;
      case "unlikely":
        return say`Another token is likelier.`;
      case "undrawn":
        return say`It could have been drawn, and was not.`;
      case "cut":
        return say`Too unlikely: it was left out of the draw.`;
    }
  }
}

/** How the search was made, in a few words. */
export function methodOf({ method, beams, temperature, top_k, top_p, seed }: Settings): string {
  if (method === "greedy") return say`greedy: the likeliest token each time`;
  if (method === "beam") return say`beam of ${beams}`;
  const cuts = `${top_k === null ? "" : say`, the ${top_k} likeliest`}${top_p === null ? "" : say`, top-p ${top_p}`}`;
  return say`drawn, temperature ${temperature}${cuts}, seed ${seed}`;
}
