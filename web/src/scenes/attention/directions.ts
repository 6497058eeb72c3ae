/** Who may look at whom: forward only, and in both directions. */

import { Pen } from "../../draw/pen.ts";
import { Sheet } from "../../draw/sheet.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { percent } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { around, type Board, drawGrid, drawLine, drawText, drawWords, frame, LABEL, laidOut } from "../board/board.ts";
import { index } from "../board/cells.ts";
import { missing, tokensOf } from "../board/reading.ts";
import type { Share } from "../board/shares.ts";
import { looksForward, otherWay } from "../recomputed/forward.ts";
import { guessesAt, scored } from "../vectors/skit.ts";

const [GAP, ABOVE, MOST] = [40, 72, 16];

/** One of the two: its weights, if they are known, and who may look at whom. */
interface Side {
  readonly title: string;
  readonly own: boolean;
  readonly weights: Tensor | null;
  allowed(query: number, key: number): boolean;
  /** The likeliest words at the hidden place. */
  readonly guesses: readonly Share[];
}

/** Forward only, then both directions; the run's own is one of them. */
function sidesOf(s: Scout, head: number): Side[] {
  const [other, forward] = [otherWay(s), looksForward(s)];
  const titles = [say`Both directions`, say`Forward only`];
  const looks = (mask: Tensor, query: number, key: number): boolean => {
    return (
      at(
        mask,
        [s.sentence, head, query, key].map((step, axis) => Math.min(step, (mask.shape[axis] ?? 1) - 1)),
      ) !== 0
    );
  };
  const may = s.tensor(s.of("may_look"));
  const place = missing(s).length > 0 ? scored(s) : null;
  const guesses = (from: Scout): readonly Share[] => (place === null ? [] : guessesAt(from, place).slice(0, 1));
  const sides: Side[] = [
    {
      ...{ title: titles[Number(forward)] ?? "", own: true, weights: s.tensor(s.of("weights")), guesses: guesses(s) },
      allowed: (query, key) => looks(may, query, key),
    },
    {
      ...{ title: titles[Number(!forward)] ?? "", own: false, weights: other?.weights ?? null },
      guesses: other?.whole == null ? [] : guesses(s.over(other.whole)),
      allowed(query, key) {
        return other === null ? forward || (key <= query && looks(may, query, key)) : looks(other.may_look, query, key);
      },
    },
  ];
  return forward ? sides : sides.reverse();
}

/** The head and the word that looks: those of the weight in hand, else those of the example. */
function inHand(hand: Pick<Board, "s" | "tensor" | "cell">): [head: number, query: number] {
  const { s, tensor } = hand;
  return [index(hand, "head"), tensor === s.of("weights") ? index(hand, "query") : (missing(s)[0] ?? s.example.query)];
}

export function drawDirections(board: Board): number {
  const { s, width } = board;
  const [head, query] = inHand(board);
  const beside = width >= 620;
  const room = beside ? (width - GAP) / 2 : width;
  let bottom = 0;
  sidesOf(s, head).forEach((side, column) => {
    const [x, y] = beside ? [column * (room + GAP), 0] : [0, column === 0 ? 0 : bottom + 24];
    bottom = Math.max(bottom, drawSide({ ...board, width: x + room }, side, query, head, x, y));
  });
  const all = tokensOf(s).length;
  if (all <= MOST) return bottom;
  return drawText(board, 0, bottom + 8, say`${MOST} of ${all} tokens are drawn, those around the word that looks.`);
}

function drawSide(board: Board, side: Side, query: number, head: number, x: number, y: number): number {
  const { s, look, items, width } = board;
  const { weights, own } = side;
  const { ink, quiet, hair } = look.palette;
  const pen = new Pen(items);
  pen.text(x, y + 14, side.title, ink, { size: 14, bold: true });
  const computed =
    weights === null
      ? say`too many weights to work out here`
      : say`the same scores, this mask: worked out in this page`;
  pen.text(x, y + 32, own ? say`as this model looks, block 0, head ${head}` : computed, quiet);
  const all = tokensOf(s);
  const shown = around(all.indexOf(query), all.length, MOST).map((place) => all[place] ?? 0);
  const cell = Math.min(24, Math.floor((width - x - LABEL) / shown.length));
  const [left, top] = [x + LABEL, y + 40 + ABOVE];
  drawWords(board, shown, left, top - 6, cell, true, ABOVE - 10);
  drawWords(board, shown, left - 8, top, cell, false, LABEL - 12);
  const usual = laidOut(s, s.of("weights"));
  const sheet = own || weights === null ? usual : new Sheet(usual.name, weights, s.names, usual.layout, usual.scale);
  drawGrid(board, {
    ...{ sheet, base: s.cell(usual.name, { query, head }), x: left, y: top, cw: cell, ch: cell },
    ...{ rows: shown, columns: shown, apart: !own },
    shown: (row, key) => weights !== null && side.allowed(row, key),
  });
  let [lines, dots] = ["", ""];
  shown.forEach((row, down) => {
    shown.forEach((key, along) => {
      const [cx, cy] = [left + along * cell, top + down * cell];
      if (!side.allowed(row, key)) lines += `M${cx + 4} ${cy + cell - 4}L${cx + cell - 4} ${cy + 4}`;
      else if (weights === null) dots += `M${cx + cell / 2 - 2} ${cy + cell / 2}h4`;
    });
  });
  items.push({ d: lines, stroke: quiet, line: 1 }, { d: dots, stroke: ink, line: 3 });
  frame(board, left, top + shown.indexOf(query) * cell, cell * shown.length, cell);
  items.push({ x: left, y: top, w: cell * shown.length, h: cell * shown.length, stroke: hair, line: 1 });
  const word = (token: number): string => s.names.word(s.side, s.sentence, token).text;
  const seen = all.filter((key) => side.allowed(query, key));
  const line = drawLine(board, x, top + cell * shown.length + 24, [
    [word(query), look.palette.text(s.isHidden(query) ? "hidden" : "residual"), true],
    [say` may draw on ${seen.length} of ${all.length} tokens. `, ink],
    ...taken(s, side, query, head).flatMap(({ label, value }) => [
      [`${label} `, ink] as const,
      [`${percent(value)} `, look.palette.text("attention"), true] as const,
    ]),
  ]);
  const told = side.guesses.flatMap(({ label, value }) => [
    [say`Guess at the hidden place: ${label} `, ink] as const,
    [percent(value), look.palette.text("hidden"), true] as const,
  ]);
  return told.length > 0 ? drawLine(board, x, line, told) : line;
}

/** The words from which it takes most. */
function taken(s: Scout, { weights }: Side, query: number, head: number): Share[] {
  if (weights === null) return [];
  const all = tokensOf(s).map((key) => ({
    label: s.names.word(s.side, s.sentence, key).text,
    value: at(weights, s.cell(s.of("weights"), { query, key, head })),
  }));
  return all
    .filter(({ value }) => value > 0)
    .sort((one, two) => two.value - one.value)
    .slice(0, 3);
}

/** The same as a table: what the word that looks takes from each word, both ways. */
export function directionsTable(s: Scout, _: readonly number[], hand: Pick<Board, "tensor" | "cell">): string[][] {
  const [head, query] = inHand({ s, ...hand });
  const word = (token: number): string => s.names.word(s.side, s.sentence, token).text;
  const sides = sidesOf(s, head);
  const told = ({ weights, allowed }: Side, key: number): string => {
    if (!allowed(query, key)) return say`may not look`;
    return weights === null ? say`may look` : percent(at(weights, s.cell(s.of("weights"), { query, key, head })));
  };
  return [
    [say`head ${head}: ${word(query)} takes from`, ...sides.map(({ title }) => title)],
    ...tokensOf(s).map((key) => [word(key), ...sides.map((side) => told(side, key))]),
  ];
}
