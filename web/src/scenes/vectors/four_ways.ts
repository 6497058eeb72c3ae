/** Four ways to use one encoder: which of its vectors each of them reads, on the text of the run. */

import { Pen } from "../../draw/pen.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { percent, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Board } from "../board/board.ts";
import { drawRead, drawReading, labelled, poolingOf, secondFrom, tokensOf, type Way, wayOf } from "../board/reading.ts";
import { labelsOf, POOLED } from "./answer.ts";

/** Of each way its name, what it reads, what it gives, and which text it needs besides the first. */
const WAYS: readonly (readonly [Way, string, string, string, string?])[] = [
  ["pair", say`Two texts`, say`the first vector`, say`one label, or a number, for both`, say`second text`],
  ["one", say`One text`, say`the first vector`, say`one label for the text`],
  [
    "answer",
    say`Question and passage`,
    say`each vector of the passage`,
    say`where the answer begins and ends`,
    say`passage`,
  ],
  ["tags", say`Tags`, say`the first vector of each word`, say`one label for each word`],
];

const [HEIGHT, GAP] = [236, 32];

export function drawFourWays(board: Board): number {
  const { s, look, width } = board;
  const { ink, quiet, hair, text } = look.palette;
  const pen = new Pen(board.items);
  const columns = width >= 600 ? 2 : 1;
  const room = (width - GAP * (columns - 1)) / columns;
  const second = secondFrom(s);
  WAYS.forEach(([way, title, reads, gives, other], order) => {
    const [x, y] = [(order % columns) * (room + GAP), Math.floor(order / columns) * HEIGHT];
    const own = wayOf(s) === way;
    pen.text(x, y + 14, title, ink, { size: 14, bold: own });
    if (own) pen.text(x + room, y + 14, say`what this model does`, ink, { bold: true, align: "right" });
    pen.rect(x, y + 20, room, own ? 3 : 1, own ? ink : hair);
    const tokens = tokensOf(s).filter((token) => other !== undefined || second === null || token < second);
    const slots = other !== undefined && second === null ? other : undefined;
    const read = drawReading(board, { x, y: y + 20, width: room, tokens, ...(slots === undefined ? {} : { slots }) });
    const pooling = own ? poolingOf(s) : "first";
    const whole = pooling === "first" ? read.tokens.slice(0, 1) : read.tokens;
    const passage = second === null ? [-1] : read.tokens.slice(0, -1).filter((token) => token >= second);
    const used = way === "answer" ? passage : way === "tags" ? labelled(s, read.tokens) : whole;
    const after =
      slots !== undefined && way === "answer"
        ? { ...read, left: () => read.right - 3 * read.step, step: 3 * read.step }
        : read;
    const line = drawRead(
      board,
      after,
      used,
      pooling === "first" ? say`reads ${reads}` : say`reads ${POOLED[pooling]}`,
    );
    pen.text(x, line + 14, own ? answered(s, way, second ?? 0) : say`gives ${gives}`, own ? text("hidden") : quiet, {
      ...(own ? { size: 14, bold: true } : {}),
    });
  });
  return (WAYS.length / columns) * HEIGHT;
}

/** What the run's model answers, in a few words. */
export function answered(s: Scout, way: Way, from: number): string {
  if (way === "one" || way === "pair") {
    const [first] = labelsOf(s);
    if (first !== undefined) return `${first.label} ${percent(first.value)}`;
    return short(s.number("sentence_head.logits", { candidate: s.sentence }).value);
  }
  const name = `token_head.${s.has("token_head.probabilities") ? "probabilities" : "logits"}`;
  const value = (token: number, label: number): number => at(s.tensor(name), s.cell(name, { token, label }));
  const word = (token: number): string => s.names.word(s.side, s.sentence, token).text;
  const best = (all: readonly number[], of: (each: number) => number): number => {
    return all.reduce((one, two) => (of(two) > of(one) ? two : one), all[0] ?? 0);
  };
  const passage = tokensOf(s).filter((token) => token >= from);
  if (way === "answer") {
    const [first, last] = [0, 1].map((label) => word(best(passage, (token) => value(token, label))));
    return say`begins at ${first}, ends at ${last}`;
  }
  const all = range(s.size(name, "label"));
  const tags = labelled(s, passage).map((token) => {
    return `${word(token)} ${
      s.names.label(
        name,
        "label",
        best(all, (label) => value(token, label)),
        0,
      ).text
    }`;
  });
  return tags.slice(0, 4).join(", ");
}
