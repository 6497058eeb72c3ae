/** A word in two places: how alike its vectors are, layer by layer, and how far each block turns them. */

import { Pen } from "../../draw/pen.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { short } from "../../numbers/written.ts";
import { cosineOf } from "../../run/looks.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { around, type Board, drawGrid, drawText, laidOut } from "../board/board.ts";
import { realPlaces } from "../board/reading.ts";
import { channelIn, layerName, layerTitle, reader, vectorsIn, WORD_ASKED, widthOf } from "./vectors.ts";

/** A token of one of the run's sentences. */
interface Place {
  readonly sentence: number;
  readonly token: number;
  readonly text: string;
}

function placesOf(s: Scout): Place[] {
  return range(s.sentences).flatMap((sentence) =>
    realPlaces(s.fetch, s.side, sentence).map((token) => {
      return { sentence, token, text: s.names.word(s.side, sentence, token).text };
    }),
  );
}

const same = (one: Place | undefined, text: string): boolean => one?.text.toLowerCase() === text.toLowerCase();

/** The words of the sentence in front, and all places of all sentences: first the same word elsewhere. */
export function TWO_PLACES(given: Scout): Ask[] {
  const s = reader(given);
  const places = placesOf(s);
  const often = (token: number): number => {
    return places.filter((each) => same(each, s.names.word(s.side, s.sentence, token).text)).length;
  };
  const [asked = { label: say`word`, options: [], usual: 0 }] = WORD_ASKED(s);
  const usual = often(asked.usual) > 1 ? asked.usual : (s.seen.find((token) => often(token) > 1) ?? asked.usual);
  const text = asked.options[usual] ?? "";
  const other = places.findIndex((each) => same(each, text) && !(each.sentence === s.sentence && each.token === usual));
  const more = s.sentences > 1;
  const options = places.map(({ text, sentence, token }) => `${text} ${more ? `${sentence}.` : ""}${token}`);
  return [
    { ...asked, usual },
    {
      label: more ? say`beside (sentence.token)` : say`beside`,
      options,
      usual: other >= 0 ? other : Math.min(usual + 1, options.length - 1),
    },
  ];
}

function vectorAt(s: Scout, layer: number, { sentence, token }: Place): Float64Array {
  const name = layerName(s, layer);
  const tensor = s.tensor(name);
  return Float64Array.from({ length: widthOf(s) }, (_, channel) => {
    return at(tensor, s.cell(name, { sentence, token, query: token, channel }));
  });
}

/** The cosines of a layer: with the other place, and with the layer below. */
export interface Turned {
  readonly layer: number;
  readonly beside: number;
  readonly equal: boolean;
  readonly below: number | null;
}

export function turnedOf(s: Scout, own: Place, other: Place): Turned[] {
  const { layers, word } = vectorsIn(s);
  const numbers = [...(word === null ? [] : [-1]), ...layers.map((_, layer) => layer)];
  return numbers.map((layer, order) => {
    const [one, two] = [vectorAt(s, layer, own), vectorAt(s, layer, other)];
    const before = numbers[order - 1];
    return {
      layer,
      beside: cosineOf(one, two),
      equal: one.every((value, channel) => value === two[channel]),
      below: before === undefined ? null : cosineOf(one, vectorAt(s, before, own)),
    };
  });
}

function chosenIn(s: Scout, [token = 0, beside = 0]: readonly number[]): [Place, Place] {
  const own = { sentence: s.sentence, token, text: s.names.word(s.side, s.sentence, token).text };
  return [own, placesOf(s)[beside] ?? own];
}

const [LEFT, CELL, ROW] = [80, 42, 56];

export function drawSameWord(given: Board): number {
  const board = { ...given, s: reader(given.s) };
  const { s, look, width } = board;
  const { palette } = look;
  const { ink, quiet } = palette;
  const pen = new Pen(board.items);
  const [own, other] = chosenIn(s, board.at);
  const narrow = width < 560;
  const bars = narrow ? 96 : 200;
  const count = Math.max(1, Math.min(widthOf(s), Math.floor((width - LEFT - bars - 24) / CELL)));
  const channels = around(channelIn(board), widthOf(s), count);
  const right = LEFT + count * CELL + 24;
  pen.text(LEFT, 14, say`channels ${channels[0]} to ${channels.at(-1)}`, quiet);
  pen.text(right, 14, say`cosine`, ink, { bold: true });
  let y = 28;
  for (const { layer, beside, equal, below } of turnedOf(s, own, other).toReversed()) {
    const name = layerName(s, layer);
    pen.text(LEFT - 8, y + 26, layerTitle(layer), ink, { align: "right" });
    [own, other].forEach(({ sentence, token }, row) => {
      const base = s.cell(name, { sentence, token, query: token });
      const place = { x: LEFT, y: y + row * 22, cw: CELL, ch: 22, rows: [token], columns: channels };
      drawGrid(board, { sheet: laidOut(s, name), base, ...place });
    });
    const wide = Math.max(0, beside) * (bars - 56);
    pen.rect(right, y + 6, Math.max(wide, 1), 12, palette.fill("attention"));
    pen.text(right + wide + 6, y + 16, equal ? say`equal` : short(beside), ink, { bold: true });
    if (below !== null)
      pen.text(right, y + 36, `${narrow ? say`below` : say`with the layer below`} ${short(below)}`, quiet);
    y += ROW;
  }
  const where = other.sentence === own.sentence ? say`of the same sentence` : say`of sentence ${other.sentence}`;
  const said = say`Above: ${own.text}, token ${own.token}. Below it: ${other.text}, token ${other.token} ${where}. The same word has the same numbers before anything is added; positions, where they are added, and blocks make them differ.`;
  return drawText(board, 0, y + 12, said);
}

export function sameWordTable(given: Scout, at: readonly number[]): string[][] {
  const s = reader(given);
  const [own, other] = chosenIn(s, at);
  return [
    [say`layer`, say`${own.text} with ${other.text}`, say`with the layer below`],
    ...turnedOf(s, own, other).map(({ layer, beside, equal, below }) => [
      layerTitle(layer),
      equal ? say`equal` : short(beside, 5),
      below === null ? "" : short(below, 5),
    ]),
  ];
}
