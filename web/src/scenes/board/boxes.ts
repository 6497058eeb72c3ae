/** Pictures of boxes: one table for the whole batch, all heads in one product, attention on one page. */

import type { Box } from "../../draw/box.ts";
import { drawBox } from "../../draw/draw_box.ts";
import type { Arrangement } from "../../draw/sheet.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted, grouped, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { arrow, type Board, boxOf, caption, drawText } from "./board.ts";

/** At most so many heads are drawn; how many more there are is said. */
const HEADS = 2;

export interface Set {
  readonly box: Box;
  readonly x: number;
  readonly y: number;
}

export function put(board: Board, box: Box, x: number, y: number): Set {
  drawBox(box, x + box.words, y, board.look, board.items, board.panels);
  return { box, x: x + box.words, y };
}

/** The middle of a box's front, its left and right edge. */
export function middle({ box, x, y }: Set): { left: number; right: number; y: number } {
  return { left: x, right: x + box.w + box.depth, y: y + box.top + box.h / 2 };
}

export function sign({ items, look }: Board, x: number, y: number, text: string): void {
  items.push({ x, y: y + 6, text, size: 18, fill: look.palette.quiet, align: "center" });
}

/** Vectors times one table of weights: the table is drawn once, and dashed where it is expanded along the batch. */
export function drawShared(board: Board): number {
  const { s, items, look, width } = board;
  const [input = s.embed("sum")] = s.operands(s.of("query"));
  const most = Math.max(40, (width - 250) / 3);
  const axes = s.names.axes(s.weight(s.of("query")));
  const layout: Arrangement = { rows: axes[1] ?? null, columns: axes[0] ?? null, sheets: null, depth: null };
  const x = put(board, boxOf(board, input, say`X, the words`, { words: true, most }), 0, 0);
  const at = middle(x);
  const table = boxOf(board, s.weight(s.of("query")), "", { layout, most });
  const depth = Math.min(s.sentences, 4) * look.step;
  const down = Math.max(0, at.y - table.top - table.h / 2);
  const left = x.x + x.box.width + 32;
  for (let behind = Math.min(s.sentences, 4) - 1; behind > 0; behind--) {
    const [dx, dy] = [behind * look.step, -behind * look.step];
    const d = `M${left + dx} ${down + table.top + dy}h${table.w}v${table.h}`;
    items.push({ d, stroke: look.palette.quiet, line: 1, dash: 3 });
  }
  const w = put(board, table, left, down);
  caption(board, left + depth, down + table.top - depth - 2, "W_Q", "query");
  sign(board, x.x + x.box.width + 12, at.y, "×");
  const end = left + table.width + depth + 32;
  sign(board, end - 22, at.y, "=");
  const [rows = 1, columns = 1] = s.shape(s.weight(s.of("query")));
  const counts = say`${columns} × ${rows} = ${grouped(columns * rows)} weights, one table`;
  items.push({
    ...{ y: down + table.top + table.h + 32, fill: look.palette.quiet },
    x: Math.max(Math.min(w.x, width - look.measure(counts, 12)), 0),
    text: counts,
  });
  const query = boxOfAll(board, s.of("query"), say`query, all heads`, most);
  const q = put(board, query, end, Math.max(0, at.y - query.top - query.h / 2));
  return Math.max(...[x, w, q].map(({ box, y }) => y + box.height)) + 32;
}

/** All heads of a tensor side by side. */
function boxOfAll(board: Board, name: string, title: string, most: number): Box {
  const layout = { rows: "query", columns: "channel", sheets: null, depth: "sentence" };
  const { s } = board;
  const heads = Math.min(s.heads, 4);
  const one = boxOf(board, name, title, { layout, most: most / heads });
  const place = s.names.axes(name).indexOf("head");
  const faces = range(heads, (head) => ({
    ...(one.faces[0] ?? { dy: 0, title: "" }),
    base: (one.faces[0]?.base ?? []).map((index, axis) => (axis === place ? head : index)),
    dx: head * (one.w + 4),
    dy: 0,
    title: "",
  }));
  return { ...one, faces, width: heads * (one.w + 4) + one.depth + 14 };
}

/** Queries times keys, head by head: two products that never meet. */
export function drawProduct(board: Board): number {
  const { s, items, look, width } = board;
  const beside = width >= 700;
  const room = beside ? width / 2 : width;
  const most = Math.max(40, (room - 190) / 3);
  const turned: Arrangement = { rows: "channel", columns: "key", sheets: null, depth: "sentence" };
  let bottom = 0;
  for (let head = 0; head < Math.min(s.heads, HEADS); head++) {
    const [left, y] = beside ? [head * room, 0] : [0, bottom];
    const query = boxOf(board, s.of("query"), say`query, head ${head}`, { head, words: true, most });
    const key = boxOf(board, s.of("key"), say`key ${head}, turned`, { head, layout: turned, most });
    const scores = boxOf(board, s.of("scores"), say`scores, head ${head}`, { head, most });
    const tall = Math.max(...[query, key, scores].map((box) => box.top + box.h / 2));
    const set = (box: Box, x: number): Set => put(board, box, x, y + tall - box.top - box.h / 2);
    const q = set(query, left);
    const k = set(key, q.x + query.width + 20);
    const t = set(scores, k.x + key.width + 20);
    const at = middle(q).y;
    sign(board, q.x + query.width + 6, at, "×");
    sign(board, k.x + key.width + 6, at, "=");
    bottom = Math.max(bottom, ...[q, k, t].map(({ box, y: top }) => top + box.height + 16));
  }
  return moreHeads(board, HEADS, 0, bottom, items, look.palette.quiet);
}

function moreHeads(board: Board, shown: number, x: number, y: number, items: Board["items"], fill: string): number {
  if (board.s.heads <= shown) return y;
  const text = say`and ${counted(board.s.heads - shown, "more head")} in the same way`;
  items.push({ x, y: y + 12, text, fill });
  return y + 24;
}

/** What the arrows of that picture stand for, and its counts. */
function recapSaid(s: Board["s"]): string {
  const scaled = s.formula(s.of("scaled"))?.rule["by"];
  const size = Math.round(1 / Number(scaled) ** 2);
  const root = Math.abs(Number(scaled) ** 2 * size - 1) < 1e-6;
  const by = scaled === undefined ? "" : root ? ` / √${size}` : ` · ${short(Number(scaled))}`;
  return say`A = softmax(Q Kᵀ${by}), row by row; Z = A V. O: the Z of all heads side by side, times W_O.`;
}

/** X; of each head Q and K, their weights, times V is Z; and Z of the whole. */
export function drawRecap(whole: Board): number {
  const { s, items, width } = whole;
  const narrow = width < 560;
  const side = Math.max(4, Math.min(12, Math.floor((width - (narrow ? 230 : 330)) / 33)));
  const look = { ...whole.look, side, step: narrow ? 2 : 4 };
  const board = { ...whole, look };
  const [input = s.embed("sum")] = s.operands(s.of("query"));
  const last = narrow ? 56 : 64;
  const most = Math.max(14, Math.floor((width - (narrow ? 176 : 284) - last) / 7));
  const x = boxOf(board, input, "X", { words: !narrow, most });
  const begin = x.words + x.width + 16;
  const zs: Set[] = [];
  const qs: Set[] = [];
  let [y, right] = [0, 0];
  for (let head = 0; head < Math.min(s.heads, HEADS); head++) {
    const weights = boxOf(board, s.of("weights"), say`A ${head}`, { head, most });
    const centre = y + weights.top + weights.h / 2;
    let left = begin;
    const next = (last: string, title: string, gap: number): Set => {
      const box = last === "weights" ? weights : boxOf(board, s.of(last), `${title} ${head}`, { head, most });
      const set = put(board, box, left, centre - box.top - box.h / 2);
      left = set.x + box.width + gap;
      return set;
    };
    qs.push(next("query", "Q", 2));
    const k = next("key", "K", 14);
    const a = next("weights", "A", 14);
    arrow(board, middle(k).right + 3, centre, a.x - (a.box.words > 0 ? 18 : 3), centre);
    sign(board, left - 12, centre, "×");
    const v = next("value", "V", 14);
    sign(board, left - 12, centre, "=");
    const z = next("mixed", "Z", 0);
    zs.push(z);
    right = Math.max(right, left);
    y = Math.max(...[k, a, v, z].map(({ box, y: top }) => top + box.height)) + 12;
  }
  const lowest = Math.max(0, y / 2 - x.top - x.h / 2);
  const xSet = put(board, x, 0, lowest);
  for (const q of qs) arrow(board, middle(xSet).right + 3, middle(xSet).y, q.x - 3, middle(q).y);
  const out = boxOf(board, s.of("output"), "O", { most });
  const outSet = put(board, out, right + last, Math.max(0, y / 2 - out.top - out.h / 2));
  for (const z of zs) arrow(board, middle(z).right + 3, middle(z).y, outSet.x - 3, middle(outSet).y);
  items.push({
    ...{ x: right + last / 2, y: middle(outSet).y + 4, align: "right" },
    text: "W_O",
    fill: look.palette.quiet,
  });
  const bottom = Math.max(y, ...[xSet, outSet].map(({ box, y: top }) => top + box.height));
  const more = moreHeads(board, HEADS, begin, bottom, items, look.palette.quiet);
  return drawText(board, 0, more + 24, recapSaid(s));
}
