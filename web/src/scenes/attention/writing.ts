/** A decoder writes: at each step the likeliest next words, the likeliest of them taken and put after the others. */

import { cut } from "../../draw/box.ts";
import { quoted } from "../../formulas/names.ts";
import type { Given } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { around, type Board, drawText } from "../board/board.ts";

const PROBABILITIES = "head.probabilities";
const STEPS = 10;

export function drawWriting(board: Board): number {
  const { s, look, width, items, panels } = board;
  const side = s.formula(PROBABILITIES)?.tokens ?? s.side;
  const { quiet, ink } = look.palette;
  const all = s.guesses;
  const axes = s.names.axes(PROBABILITIES);
  const axis = axes.includes("place") ? "place" : "token";
  const vocabulary = axes.indexOf("vocabulary");
  const held = board.tensor === PROBABILITIES ? board.cell[axes.indexOf(axis)] : undefined;
  const inHand = all.findIndex(({ given }) => given[axis] === held);
  const shown = around(Math.max(inHand, 0), all.length, STEPS);
  const narrow = width < 560;
  const left = narrow ? 0 : Math.min(216, width * 0.3);
  const count = Math.min(narrow ? 3 : 4, s.size(PROBABILITIES, "vocabulary"));
  const wide = Math.min(136, (width - left) / count);
  const [words, high] = narrow ? [48, 84] : [24, 60];
  const most = narrow ? width : left - 36;
  const text = (token: number): string => s.names.word(side, s.sentence, token).text;
  const told = s.names.run.words[side][s.sentence] ?? [];
  const rows: { readonly base: readonly number[]; readonly ids: readonly number[] }[] = [];
  let other = 0;
  const head = { y: 12, bold: true };
  if (!narrow) items.push({ x: left - 36, text: say`so far`, align: "right", fill: quiet, ...head });
  items.push({ x: left + 8, text: say`argmax`, fill: look.palette.text("hidden"), ...head });
  items.push({ x: left + wide + 8, text: say`the next likeliest`, fill: quiet, ...head });
  shown.forEach((step, order) => {
    const given: Given = all[step]?.given ?? {};
    const token = axis === "token" ? (given["token"] ?? 0) : (s.names.run.places[given["place"] ?? 0]?.[1] ?? 0);
    const found = s.likeliest(given, count);
    rows.push({ base: s.cell(PROBABILITIES, given), ids: found.map(({ share }) => share.cell[vocabulary] ?? 0) });
    const y = order * high + words;

    // The words so far; of many the last ones.
    let from = 0;
    const so = (): string =>
      (from > 0 ? "… " : "") +
      told
        .slice(from, token + 1)
        .map((_, at) => text(from + at))
        .join(" ");
    while (from < token && look.measure(so(), 14) > most) from += 1;
    const at = narrow
      ? { x: 0, y: y - 8, align: "left" as const }
      : { x: left - 36, y: y + 22, align: "right" as const };
    items.push({ ...at, text: cut(so(), most, look.measure), size: 14, fill: ink });
    if (!narrow) items.push({ x: left - 18, y: y + 22, text: "→", size: 14, fill: quiet, align: "center" });

    found.forEach(({ word, share }, place) => {
      const [x, first] = [left + place * wide, place === 0];
      const name = typeof word === "string" ? word : word.text;
      const [fill, bold] = [first ? look.palette.text("hidden") : ink, first];
      const room = wide - 32 - look.measure(share.text, 12, bold);
      const base = { y: y + 21, bold, fill };
      items.push({ x: x + 8, text: cut(name, room, look.measure), ...base });
      items.push({ x: x + wide - 16, text: share.text, align: "right", ...base });
      const bar = { x: x + 8, y: y + 28, h: 5 };
      items.push({ ...bar, w: wide - 24, fill: look.palette.faint });
      items.push({ ...bar, w: (wide - 24) * share.value, fill: look.palette.fill("hidden") });
      if (first) items.push({ x: x + 0.5, y: y + 2.5, w: wide - 9, h: 37, stroke: ink, line: 1.5 });
    });

    const best = found[0]?.word;
    if (told[token + 1] === undefined || typeof best !== "object" || best.text === quoted(text(token + 1))) return;
    other += 1;
    const says = cut(say`The text goes on with ${text(token + 1)}.`, width - left - 8, look.measure);
    items.push({ x: left + 8, y: y + 53, text: says, fill: quiet });
  });
  panels.push({
    ...{ tensor: PROBABILITIES, x: left, y: words, w: wide * count, h: high * rows.length },
    ...{ rows: rows.length, columns: count },
    cell(row, column) {
      const { base = [], ids = [] } = rows[row] ?? {};
      return base.map((index, place) => (place === vocabulary ? (ids[column] ?? 0) : index));
    },
    find(cell) {
      const same = (base: readonly number[]): boolean => {
        return base.every((index, place) => place === vocabulary || index === cell[place]);
      };
      const row = rows.findIndex(({ base }) => same(base));
      const column = rows[row]?.ids.indexOf(cell[vocabulary] ?? -1) ?? -1;
      return column < 0 ? null : [row, column];
    },
  });
  let y = words + rows.length * high + 16;
  if (all.length > shown.length)
    y = drawText(board, 0, y, say`${all.length - shown.length} more steps: arrow up and down lead to them.`);
  const says =
    other > 0
      ? say`Where the text goes on otherwise, it was given, or found by a search that keeps several texts (beam search): argmax is one way to choose (C-16).`
      : say`Each word shown here is the likeliest one at its step (C-16: argmax is one way to choose, beam search another).`;
  return drawText(board, 0, y, says);
}
