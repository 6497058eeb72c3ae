/** What each block gives for each word: all of them can be taken as features. */

import { Pen } from "../../draw/pen.ts";
import { say } from "../../words/say.ts";
import { around, type Board, drawGrid, drawText, drawWords, frame, laidOut } from "../board/board.ts";
import { tokensOf } from "../board/reading.ts";
import { channelIn, layerName, layerTitle, reader, vectorsIn, widthOf } from "./vectors.ts";

const [LEFT, NARROWEST, WIDEST, CELL, GAP, WORDS, SHOWN] = [80, 24, 44, 16, 10, 80, 3];

export function drawBlockOutputs(given: Board): number {
  const board = { ...given, s: reader(given.s) };
  const { s, look, width } = board;
  const pen = new Pen(board.items);
  const { quiet, ink } = look.palette;
  const all = tokensOf(s);
  const [token = 0] = board.at;
  const most = Math.max(1, Math.floor((width - LEFT) / NARROWEST));
  const tokens = around(Math.max(all.indexOf(token), 0), all.length, most).map((place) => all[place] ?? 0);
  const step = Math.min(WIDEST, (width - LEFT) / tokens.length);
  const channels = around(channelIn(board), widthOf(s), Math.min(SHOWN, widthOf(s)));
  drawWords(board, tokens, LEFT, WORDS - 8, step, true, WORDS - 12);
  let y = WORDS;
  const layers = vectorsIn(s).layers.map((_, layer) => layer);
  for (const layer of layers.toReversed()) {
    const name = layerName(s, layer);
    const high = channels.length * CELL;
    pen.text(LEFT - 8, y + high / 2 + 4, layerTitle(layer), layer === 0 ? quiet : ink, { align: "right" });
    const grid = { x: LEFT, y, cw: step, ch: CELL, rows: tokens, columns: channels };
    drawGrid(board, { sheet: laidOut(s, name), base: s.cell(name), turned: true, ...grid });
    y += high + GAP;
  }
  const column = tokens.indexOf(token);
  if (column >= 0) frame(board, LEFT + column * step, WORDS, step, y - GAP - WORDS);
  const { text } = s.names.word(s.side, s.sentence, token);
  const said = say`Drawn are ${channels.length} of the ${widthOf(s)} numbers of each vector, channels ${channels.join(", ")}. ${text} has ${layers.length} vectors: any of them, or several together, can be the features of another model.`;
  return drawText(board, 0, y + 12, said);
}
