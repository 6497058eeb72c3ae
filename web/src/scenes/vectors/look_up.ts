/** A word, its id, the row of the table of that number, and the vector that it is. */

import { range } from "../../numbers/arithmetic.ts";
import { sizeOf } from "../../numbers/safetensors.ts";
import { grouped, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { around, arrow, type Board, caption, drawGrid, drawText, frame, laidOut } from "../board/board.ts";
import { spelled } from "../board/spelled.ts";
import { drawAll } from "../board/strip.ts";

/** A table with more numbers is not fetched for a picture of seven of its rows. */
const LARGEST = 16_000_000;

/** The vectors that were looked up, the ids, the table; null where a run was given vectors. */
export function drawnFrom(s: Scout): { word: string; ids: string; table: string; reads: string[] } | null {
  const found = s.names.run.formulas.find(({ rule, name }) => rule.rule === "look_up" && name.endsWith("embed.word"));
  if (found === undefined) return null;
  const names = s.operands(found.name);
  const ids = names.find((name) => name.endsWith(".ids"));
  const table = names.find((name) => name.startsWith("parameters."));
  if (ids === undefined || table === undefined) return null;
  const small = sizeOf(s.names.run.weights[table] ?? []) <= LARGEST;
  return { word: found.name, ids, table, reads: [found.name, ids, ...(small ? [table] : [])] };
}

export function LOOK_UP(s: Scout): Ask[] {
  const side = s.formula(drawnFrom(s)?.word ?? "")?.tokens ?? s.side;
  const words = s.names.run.words[side][s.sentence] ?? s.all.map((token) => say`token ${token}`);
  const options = words.map((_, token) => s.names.word(side, s.sentence, token).text);
  return [{ label: say`word`, options, usual: Math.min(s.seen[0] ?? 0, options.length - 1) }];
}

export function drawLookUp(board: Board): number {
  const { s, look, width, items, panels } = board;
  const found = drawnFrom(s);
  const [token = 0] = board.at;
  if (found === null) return 0;
  const { word, ids, table } = found;
  const narrow = width < 560;
  const { ink, quiet } = look.palette;
  const side = s.formula(word)?.tokens ?? s.side;
  const { text, hidden } = s.names.word(side, s.sentence, token);
  const id = s.value(ids, { token });
  const rule = s.formula(word)?.rule;
  const place = id + Number(rule?.["offset"] ?? 0);
  const by = Number(rule?.["scale"] ?? 1);
  const [rows = 1, channels = 1] = s.shape(table);
  const read = s.names.run.words.vocabulary.length > 0 ? s.names.label(table, "row", place, s.sentence).text : text;

  // The word and its number.
  items.push({
    x: 0,
    y: 24,
    text,
    size: 18,
    fill: look.palette.text(hidden ? "hidden" : "residual"),
    bold: true,
  });
  const after = look.measure(text, 18, true) + 16;
  arrow(board, after, 18, after + 28, 18);
  const box = { x: after + 40, y: 4, w: 72, h: 28 };
  items.push({ ...box, stroke: look.palette.hair, line: 1 });
  items.push({ x: box.x + 36, y: 24, text: String(id), size: 18, fill: ink, align: "center" });
  items.push({ x: box.x + 84, y: 23, text: say`its id`, fill: quiet });
  const cell = s.cell(ids, { token });
  panels.push({
    tensor: ids,
    ...box,
    rows: 1,
    columns: 1,
    cell: () => cell,
    find: (at) => (at.join() === cell.join() ? [0, 0] : null),
  });

  let y = 64;
  caption(board, 0, y, say`row ${grouped(place)} of the table, ${grouped(rows)} rows × ${channels}`, "residual");
  y += 12;
  if (s.fetch(table) === undefined) {
    y = drawText(board, 0, y + 16, say`The table is larger than this page carries; the row that was read is below.`);
  } else {
    const sheet = laidOut(s, table, {
      rows: s.names.axes(table)[0] ?? null,
      columns: s.names.axes(table)[1] ?? null,
      sheets: null,
      depth: null,
    });
    const shown = around(place, rows, 7);
    const left = narrow ? 112 : 152;
    const count = Math.min(channels, Math.floor((width - left - 24) / 42));
    const cw = Math.min(48, (width - left - 24) / count);
    const columns = range(count);
    drawGrid(board, { sheet, base: [0, 0], x: left, y, cw, ch: 24, rows: shown, columns });
    shown.forEach((row, order) => {
      const name = s.names.run.words.vocabulary.length > 0 ? s.names.label(table, "row", row, s.sentence).text : "";
      const [fill, bold] = [row === place ? ink : quiet, row === place];
      const at = { y: y + order * 24 + 16, fill, bold };
      items.push({ x: 48, text: grouped(row), align: "right", ...at });
      items.push({
        x: 56,
        text: [...spelled(name, (letter) => look.measure(letter, 12))].slice(0, narrow ? 7 : 13).join(""),
        ...at,
      });
    });
    frame(board, left, y + shown.indexOf(place) * 24, count * cw, 24);
    if (count < channels)
      items.push({
        x: left + count * cw + 8,
        y: y + shown.indexOf(place) * 24 + 16,
        text: "…",
        size: 14,
        fill: quiet,
      });
    y += shown.length * 24 + 16;
  }

  caption(board, 0, y + 16, say`${text} as ${grouped(channels)} numbers`, "residual");
  y += 28;
  y += drawAll(board, word, { token, query: token }, 0, y, width - 2) + 24;
  const zeroed = hidden && s.zeroesWords;
  const says = zeroed
    ? say`The word is hidden: in the place of row ${id} the model reads zeros.`
    : hidden || read !== text
      ? say`The model reads ${read}: the row of that entry.`
      : say`The same word has the same row in every sentence; attention adds the words around it.`;
  if (by !== 1) y = drawText(board, 0, y, say`Each number of the row is multiplied by ${short(by, 2)}.`);
  return drawText(board, 0, y, says);
}
