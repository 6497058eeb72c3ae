/** Vectors of words and texts: numbers of the model's layers, joined and pooled as the record of the run states it. */

import { LIFT } from "../../numbers/dots.ts";
import { at } from "../../numbers/safetensors.ts";
import { short } from "../../numbers/written.ts";
import type { Strategy, VectorsRecord } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { type Board, drawCell, laidOut } from "../board/board.ts";
import { tokensOf } from "../board/reading.ts";

export type Pooling = "first" | "mean" | "max" | "last-token";

/** A kind of vector of a text. */
export interface Feature extends Strategy {
  readonly strategy: string;
  readonly pooling: Pooling;
}

/** A number of the run that a number of a vector is made of, and what it is multiplied with. */
export interface Addend {
  readonly name: string;
  readonly cell: readonly number[];
  readonly token: number;
  readonly value: number;
  readonly share: number;
}

export function vectorsIn(s: Scout): VectorsRecord {
  return s.names.run.vectors ?? { layers: [], word: null, strategies: {} };
}

/** The stack whose states the vectors are, on the sentence in front. */
export function reader(s: Scout): Scout {
  const [side = ""] = vectorsIn(s).layers[0]?.split(".") ?? [];
  return s.stack === side || (side !== "encoder" && side !== "decoder") ? s : s.beside(side);
}

/** Why there is no picture of vectors. */
export function noVectors(s: Scout): string | null {
  return vectorsIn(s).layers.length > 0 ? null : say`This run has no layers to take vectors from.`;
}

export function layersRead(s: Scout): string[] {
  const { layers, word } = vectorsIn(s);
  return word === null ? [...layers] : [word, ...layers];
}

export function layerName(s: Scout, number: number): string {
  const { layers, word } = vectorsIn(s);
  return (number < 0 ? word : layers[number]) ?? "";
}

export function layerTitle(number: number): string {
  return number < 0 ? say`word` : number === 0 ? say`embedding` : say`layer ${number}`;
}

export function widthOf(s: Scout): number {
  return s.size(layerName(s, 0), "channel");
}

export function numbersOf(s: Scout, { concat, layers }: Strategy): number {
  return widthOf(s) * (concat ? layers.length : 1);
}

/** What a number of a vector is made of. */
export function addendsOf(s: Scout, { layers, concat }: Strategy, index: number, tokens: readonly number[]): Addend[] {
  const width = widthOf(s);
  const used = concat ? layers.slice(Math.floor(index / width)).slice(0, 1) : layers;
  return tokens.flatMap((token) =>
    used.map(([layer, share]): Addend => {
      const name = layerName(s, layer);
      const cell = s.cell(name, { token, query: token, channel: index % width });
      return { name, cell, token, value: at(s.tensor(name), cell), share: share / tokens.length };
    }),
  );
}

export function summed(addends: readonly Addend[]): number {
  return addends.reduce((sum, { value, share }) => sum + value * share, 0);
}

/** The same of a text: its first token, its last one, all of them, or the one with the largest number. */
export function pooled(s: Scout, feature: Feature, index: number): Addend[] {
  const all = tokensOf(s);
  if (feature.pooling === "mean") return addendsOf(s, feature, index, all);
  if (feature.pooling === "max") {
    const each = all.map((token) => addendsOf(s, feature, index, [token]));
    return each.reduce((best, one) => (summed(one) > summed(best) ? one : best));
  }
  return addendsOf(s, feature, index, feature.pooling === "first" ? all.slice(0, 1) : all.slice(-1));
}

/** The words that can be chosen; the word of the document's sentence where the text has it. */
export function WORD_ASKED(given: Scout): Ask[] {
  const s = reader(given);
  const options = s.all.map((token) => s.names.word(s.side, s.sentence, token).text);
  const help = options.findIndex((text) => text.toLowerCase() === "help");
  return [{ label: say`word`, options, usual: help >= 0 ? help : Math.min(s.seen[0] ?? 0, options.length - 1) }];
}

/** The channel in hand. */
export function channelIn({ s, tensor, cell }: Board): number {
  return cell[s.names.axes(tensor).indexOf("channel")] ?? 0;
}

/** A number that no tensor holds, coloured as those it is made of. */
export function drawWorked(
  { look, items, s }: Board,
  like: string,
  value: number,
  box: { x: number; y: number; w: number; h: number },
): void {
  const { scale, role } = laidOut(s, like);
  drawCell(items, look, box, role, scale === 0 ? 0 : Math.min(Math.abs(value) / scale, 1) ** LIFT, value);
}

/** `0.51 + 1.20 − 0.30 = 1.41` */
export function sumText(addends: readonly Addend[], most: number): string {
  const parts = addends.slice(0, most).map(({ value, share }, order) => {
    const text = `${short(Math.abs(value))}${share === 1 ? "" : ` · ${short(share)}`}`;
    return order === 0 ? `${value < 0 ? "−" : ""}${text}` : `${value < 0 ? "−" : "+"} ${text}`;
  });
  const left = addends.length - most;
  return `${parts.join(" ")}${left > 0 ? say` + ${left} more` : ""} = ${short(summed(addends))}`;
}
