/** What a model answered for one sentence, read from its own probabilities. */

import type { Names } from "../../run/names.ts";
import { counted, percent, short } from "../../run/numbers.ts";
import type { Part } from "../../run/sentences.ts";
import type { Source } from "../../run/source.ts";

/** One possible answer, with where its number is. */
export interface Guess {
  readonly text: string;
  readonly share: number;
  readonly name: string;
  readonly cell: readonly number[];
  /** Whether it is the word that stands there; undefined where that is not known. */
  readonly right?: boolean;
}

/** What was asked, and the likeliest answers. */
export interface Prediction {
  readonly asked: string;
  readonly hidden: boolean;
  readonly guesses: readonly Guess[];
}

export interface Predicted {
  /** The answer in one sentence. */
  readonly said: readonly Part[];
  readonly rows: readonly Prediction[];
  /** How many places are not listed. */
  readonly more: number;
}

/** At most so many places are listed, each with so many answers. */
const [PLACES, GUESSES] = [4, 3];
/** A run that is not here whole is asked for so few places: each is a row as long as the vocabulary. */
const FETCHED = 2;

export async function predictionsOf(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const has = (name: string): boolean => names.formulas.has(name) && source.shape(name) !== undefined;
  if (has("choice.probabilities")) return chosen(names, source);
  if (has("token_head.probabilities")) return marked(names, source, sentence);
  if (has("sentence_head.probabilities")) return labelled(names, source, sentence);
  if (has("head.probabilities")) return worded(names, source, sentence);
  return { said: stated(names, source), rows: [], more: 0 };
}

/** A model without a head that answers: what it makes of the text. */
function stated(names: Names, source: Source): Part[] {
  const last = names.run.formulas.at(-1);
  const shape = last === undefined ? [] : (source.shape(last.name) ?? []);
  const tokens = names.run.words.inputs[0]?.length ?? shape[1] ?? 0;
  const width = names.run.model.stacks.at(-1)?.width ?? 0;
  return [`It makes a vector of ${width} numbers of each of ${counted(tokens, "token")}: that is its answer.`];
}

/** The `count` largest of some numbers, with their places. */
export function largest(values: ArrayLike<number>, count: number): [number, number][] {
  const best: [number, number][] = [];
  for (let place = 0; place < values.length; place++) {
    const value = values[place] ?? 0;
    if (best.length === count && value <= (best.at(-1)?.[1] ?? 0)) continue;
    best.push([place, value]);
    best.sort((one, two) => two[1] - one[1]);
    if (best.length > count) best.pop();
  }
  return best;
}

/** A place where the vocabulary was scored: its index, its token, and the word that is right there. */
interface Place {
  readonly index: readonly number[];
  readonly token: number;
  readonly right: string | null;
}

async function worded(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const name = "head.probabilities";
  const formula = names.formulas.get(name);
  const side = formula?.tokens ?? "inputs";
  const { run } = names;
  const words = run.words[side][sentence] ?? [];
  // A decoder answers with the token that follows, an encoder with the one that stands there.
  const next = run.model.stacks.at(-1)?.side === "decoder";
  const rightAt = (token: number): string | null => (next ? (words[token + 1] ?? null) : (words[token] ?? null));
  const tokens = words.length > 0 ? words.length : (source.shape(name)?.at(-2) ?? 1);
  const scored = names.axes(name)[0] === "place";
  const answers = new Map(
    run.words.answers.filter(([row]) => row === sentence).map(([, token, word]) => [token, word]),
  );
  const all: Place[] = scored
    ? run.places.flatMap(([row, token], place) => {
        return row === sentence ? [{ index: [place], token, right: answers.get(token) ?? rightAt(token) }] : [];
      })
    : Array.from({ length: tokens }, (_, token) => ({ index: [sentence, token], token, right: rightAt(token) }));
  const hidden = all.filter(({ token }) => answers.has(token) && side === "inputs");
  const asked = hidden.length > 0 ? hidden : all;
  const read = source.whole ? asked : hidden.length > 0 ? asked.slice(0, FETCHED) : asked.slice(-1);
  const found: (Prediction & { readonly place: Place })[] = [];
  for (const place of read) {
    const row = await source.numbersAt(name, place.index);
    if (row === undefined) break;
    const guesses = largest(row, GUESSES).map(([id, share]): Guess => {
      const text = names.label(name, "vocabulary", id, sentence).text;
      const own = run.words.vocabulary[id];
      const cell = [...place.index, id];
      return place.right === null
        ? { text, share, name, cell }
        : { text, share, name, cell, right: own === place.right };
    });
    const word = names.word(side, sentence, place.token);
    found.push({ asked: next ? `after ${word.text}` : word.text, hidden: word.hidden, guesses, place });
  }
  const first = found[0];
  if (first === undefined) return { said: [], rows: [], more: 0 };
  const known = found.filter(({ place }) => place.right !== null);
  const right = known.filter(({ guesses }) => guesses[0]?.right === true).length;
  const rows = hidden.length > 0 || !next ? found.slice(0, PLACES) : found.slice(-PLACES);
  const more = asked.length - rows.length;
  if (hidden.length > 0) return { said: saidOfHidden(found, asked.length), rows, more };
  const score = known.length > 1 ? ` Its likeliest token is the text's own at ${right} of ${known.length} places.` : "";
  const last = found.at(-1) ?? first;
  const said: Part[] = next
    ? ["After ", word(last.asked.replace(/^after /, "")), " it expects ", ...guessed(last), `.${score}`]
    : [`No word was hidden.${score}`];
  return { said, rows, more };
}

function saidOfHidden(found: readonly Prediction[], asked: number): Part[] {
  const said: Part[] = [asked === 1 ? "For the hidden word it answers " : "For the hidden words it answers "];
  found.slice(0, PLACES).forEach((each, order, listed) => {
    if (order > 0) said.push(order === listed.length - 1 ? " and " : ", ");
    said.push(...guessed(each));
  });
  if (asked > PLACES) said.push(` and ${asked - PLACES} more`);
  said.push(".");
  return said;
}

function guessed({ guesses }: Prediction): Part[] {
  const [first] = guesses;
  return first === undefined ? [] : [{ text: first.text, of: "hidden" }, ` (${percent(first.share)})`];
}

function word(text: string): Part {
  return { text, of: "strong" };
}

async function labelled(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const name = "sentence_head.probabilities";
  const row = (await source.numbersAt(name, [sentence])) ?? [];
  const guesses = guessesIn(names, name, [sentence], "label", row);
  const rows = [{ asked: "the text", hidden: false, guesses }];
  return { said: ["It calls this text ", ...guessed(rows[0] as Prediction), "."], rows, more: 0 };
}

function guessesIn(
  names: Names,
  name: string,
  index: readonly number[],
  axis: string,
  row: ArrayLike<number>,
): Guess[] {
  return largest(row, GUESSES).map(([place, share]) => {
    return { text: names.label(name, axis, place, index[0] ?? 0).text, share, name, cell: [...index, place] };
  });
}

async function chosen(names: Names, source: Source): Promise<Predicted> {
  const name = "choice.probabilities";
  const all = (await source.numbersAt(name, [])) ?? [];
  const guesses = largest(all, PLACES).map(([candidate, share]): Guess => {
    return { text: names.label(name, "candidate", candidate, 0).text, share, name, cell: [candidate, 0] };
  });
  const rows = [{ asked: "the candidates", hidden: false, guesses }];
  return { said: ["Of the candidates it chooses ", ...guessed(rows[0] as Prediction), "."], rows, more: 0 };
}

/** Labels of tokens: the tokens that have another label than the most frequent one; or where a span starts and ends. */
async function marked(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const name = "token_head.probabilities";
  const formula = names.formulas.get(name);
  const side = formula?.tokens ?? "inputs";
  const [, tokens = 1, labels = 1] = source.shape(name) ?? [];
  const all = (await source.numbersAt(name, [sentence])) ?? [];
  const known = names.run.words[side][sentence]?.length ?? tokens;
  if (formula?.rule["over"] === "token") {
    const rows = Array.from({ length: labels }, (_, label): Prediction => {
      const column = Array.from({ length: known }, (_, token) => all[token * labels + label] ?? 0);
      const guesses = largest(column, GUESSES).map(([token, share]): Guess => {
        return { text: names.word(side, sentence, token).text, share, name, cell: [sentence, token, label] };
      });
      return { asked: names.label(name, "label", label, sentence).text, hidden: false, guesses };
    });
    const said = rows.flatMap((row, order): Part[] => [
      order > 0 ? ", " : "",
      word(row.asked),
      " most likely at ",
      ...guessed(row),
    ]);
    return { said: [...said, "."], rows, more: 0 };
  }
  const path = names.formulas.has("token_head.crf.path")
    ? await source.numbersAt("token_head.crf.path", [sentence])
    : undefined;
  const found = Array.from({ length: known }, (_, token) => {
    const row = Array.from({ length: labels }, (_, label) => all[token * labels + label] ?? 0);
    const best = path === undefined ? (largest(row, 1)[0]?.[0] ?? 0) : labelOn(path, token, labels);
    return { token, best, row };
  });
  const counts = new Map<number, number>();
  for (const { best } of found) counts.set(best, (counts.get(best) ?? 0) + 1);
  const common = [...counts].sort((one, two) => two[1] - one[1])[0]?.[0] ?? 0;
  const label = (index: number): string => names.label(name, "label", index, sentence).text;
  const others = found.filter(({ best }) => best !== common);
  const rows = others.slice(0, PLACES).map(({ token, best, row }): Prediction => {
    // The best sequence of labels need not have the likeliest label of each token: its own stands first.
    const guesses = guessesIn(names, name, [sentence, token], "label", row);
    const own: Guess = { text: label(best), share: row[best] ?? 0, name, cell: [sentence, token, best] };
    const rest = guesses.filter(({ cell }) => cell.at(-1) !== best).slice(0, GUESSES - 1);
    return { asked: names.word(side, sentence, token).text, hidden: false, guesses: [own, ...rest] };
  });
  const said: Part[] = rows.flatMap((row, order): Part[] => [
    order > 0 ? ", " : "It marks ",
    word(row.asked),
    " as ",
    ...guessed(row),
  ]);
  if (others.length > rows.length) said.push(` and ${counted(others.length - rows.length, "more token")}`);
  if (rows.length === 0) said.push("It gives every token the label ", word(label(common)));
  return { said: [...said, "."], rows, more: others.length - rows.length };
}

/** The label that a sequence has at a token: its table holds 1 there. */
function labelOn(path: ArrayLike<number>, token: number, labels: number): number {
  return (
    largest(
      Array.from({ length: labels }, (_, label) => path[token * labels + label] ?? 0),
      1,
    )[0]?.[0] ?? 0
  );
}

export function shareOf({ share }: Guess): string {
  return share >= 0.001 ? percent(share) : short(share);
}
