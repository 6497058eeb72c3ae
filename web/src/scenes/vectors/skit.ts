/** A hidden word: the vector of its place, and what the model gives each entry of the vocabulary there. */

import { at } from "../../numbers/safetensors.ts";
import { grouped } from "../../numbers/written.ts";
import type { Given, Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Board } from "../board/board.ts";
import { drawRead, drawReading, missing } from "../board/reading.ts";
import { quotedOf, type Share } from "../board/shares.ts";
import type { Own } from "./answer.ts";

const NAME = "head.probabilities";

/** So many of the likeliest words are drawn. */
const MOST = 8;

interface Place {
  readonly token: number;
  readonly given: Given;
}

/** The first place of the sentence at which a word is missing and the vocabulary was scored; else the last scored one. */
export function scored(s: Scout): Place | null {
  const all = s.guesses.map(({ given }): Place => {
    return { token: given["token"] ?? s.names.run.places[given["place"] ?? 0]?.[1] ?? 0, given };
  });
  const asked = missing(s);
  return all.find(({ token }) => asked.includes(token)) ?? all.at(-1) ?? null;
}

/** The likeliest words there, and the word of the document where the vocabulary has it. */
export function guessesAt(s: Scout, { given }: Place): Share[] {
  const ids = s.likeliest(given, MOST).map(({ share }) => share.cell.at(-1) ?? 0);
  for (const word of Object.keys(quotedOf(s, "skit")?.shares ?? {})) {
    const id = s.names.run.words.vocabulary.findIndex((each) => each.replace(/^[▁Ġ]/, "") === word);
    if (id >= 0 && !ids.includes(id)) ids.push(id);
  }
  for (const [place, id] of (s.names.run.expected ?? []).flatMap(({ tokens }) => tokens)) {
    if (place === given["place"] && !ids.includes(id)) ids.push(id);
  }
  return ids.map((vocabulary) => {
    const cell = s.cell(NAME, { ...given, vocabulary });
    return { label: s.names.label(NAME, "vocabulary", vocabulary, 0).text, value: at(s.tensor(NAME), cell), cell };
  });
}

/** The stack whose vectors are compared with the vocabulary. */
export function guesser(s: Scout): Scout {
  const tokens = s.formula(NAME)?.tokens ?? s.side;
  return tokens === s.side ? s : s.beside("decoder");
}

export function ownGuess(given: Board): Own | null {
  const board = { ...given, s: guesser(given.s) };
  const { s } = board;
  const place = scored(s);
  if (place === null) return null;
  return {
    s,
    tensor: NAME,
    shares: guessesAt(s, place),
    above(asked) {
      const read = drawReading(board, { ...asked, focus: place.token });
      const size = grouped(s.shape(NAME).at(-1) ?? 1);
      return drawRead(board, read, [place.token], say`a score for each of ${size} words, then softmax`);
    },
  };
}
