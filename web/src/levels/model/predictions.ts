/** What a model answered for one sentence, read from its own probabilities. */

import type { Names } from "../../formulas/names.ts";
import type { Part } from "../../formulas/sentences.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted, percent } from "../../numbers/written.ts";
import { ANSWERS, ANSWERS_LISTED, PLACES_FETCHED } from "../../sources/addresses.ts";
import type { Source } from "../../sources/source.ts";
import { heard, say } from "../../words/say.ts";

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
  /** Which places these are, and what marks an answer. */
  readonly note?: string;
}

/** At most so many places are listed; so many tokens are written in one sentence. */
const [PLACES, TOKENS] = [4, 24];
const NONE = -1;

export async function predictionsOf(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const has = (name: string): boolean => names.formulas.has(name) && source.shape(name) !== undefined;
  if (has("choice.probabilities")) {
    return together(
      names,
      source,
      "choice.probabilities",
      [],
      "candidate",
      (answers) => say`Of the candidates it chooses ${answers}.`,
    );
  }
  if (has("token_head.probabilities")) return marked(names, source, sentence);
  if (has("sentence_head.probabilities")) {
    const found = await together(
      names,
      source,
      "sentence_head.probabilities",
      [sentence],
      "label",
      (answers) => say`It calls this text ${answers}.`,
    );
    return { ...found, note: (names.run.words.after_scores ?? []).map(heard).join(" ") };
  }
  if (has(ANSWERS)) return worded(names, source, sentence);
  if (names.formulas.has(ANSWERS))
    return { said: [say`The probabilities of its answer are not in this page.`], rows: [] };
  const tokens = counted(names.run.words.inputs[sentence]?.length ?? 0, "token");
  const width = names.run.model.stacks.at(-1)?.width ?? 0;
  return { said: [say`Its answer is a vector of ${width} numbers for each of the ${tokens}.`], rows: [] };
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

/** The first guesses at one place; a source that has not all numbers is asked for these alone. */
async function likeliest(source: Source, name: string, index: number[]): Promise<[number, number][] | undefined> {
  if (!source.whole && source.largest !== undefined) return source.largest(name, index, ANSWERS_LISTED);
  const row = await source.numbersAt(name, index);
  return row === undefined ? undefined : largest(row, ANSWERS_LISTED);
}

/** One answer for the whole text, of several that are named along an axis. */
async function together(
  names: Names,
  source: Source,
  name: string,
  index: readonly number[],
  axis: string,
  sentence: Sentence,
): Promise<Predicted> {
  const all = (await source.numbersAt(name, index)) ?? [];
  const guesses = largest(all, ANSWERS_LISTED).map(([place, share]): Guess => {
    const cell = axis === "candidate" ? [place, 0] : [...index, place];
    return { text: names.label(name, axis, place, 0).text, share, name, cell };
  });
  return said(
    [{ asked: axis === "candidate" ? say`the candidates` : say`the text`, hidden: false, guesses }],
    sentence,
  );
}

/** A sentence with the answers in it. */
type Sentence = (answers: readonly Part[]) => readonly (Part | readonly Part[])[];
/** What was asked, and the answer. */
type Pair = (asked: Part, answer: readonly Part[]) => readonly (Part | readonly Part[])[];

/** The first answers of some places in one sentence, each with what was asked where `pair` is given. */
function said(rows: readonly Prediction[], sentence: Sentence, pair: Pair = (_, answer) => answer): Predicted {
  const parts = rows.slice(0, PLACES).flatMap((row, order): Part[] => {
    const told = pair({ text: row.asked, of: "strong" }, guessed(row)).flat() as Part[];
    return order > 0 ? [", ", ...told] : told;
  });
  if (rows.length > PLACES) parts.push(say` and ${rows.length - PLACES} more`);
  return { said: sentence(parts).flat() as Part[], rows: rows.slice(0, PLACES) };
}

function guessed({ guesses: [first] }: Prediction): Part[] {
  return first === undefined ? [] : [{ text: first.text, of: "hidden" }, ` (${percent(first.share)})`];
}

async function worded(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const name = ANSWERS;
  const side = names.formulas.get(name)?.tokens ?? "inputs";
  const { run } = names;
  const words = run.words[side][sentence] ?? [];
  // A decoder answers with the token that follows, an encoder with the one that stands there.
  const next = run.model.stacks.at(-1)?.side === "decoder";
  const tokens = words.length > 0 ? words.length : (source.shape(name)?.at(-2) ?? 1);
  const all: { index: number[]; token: number }[] =
    names.axes(name)[0] === "place"
      ? run.places.flatMap(([row, token], place) =>
          row === sentence && token < tokens ? [{ index: [place], token }] : [],
        )
      : range(tokens, (token) => ({ index: [sentence, token], token }));
  const hidden = all.filter(({ token }) => names.word(side, sentence, token).hidden);
  const asked = hidden.length > 0 ? hidden : all;
  const read = source.whole ? asked : hidden.length > 0 ? asked.slice(0, PLACES_FETCHED) : asked.slice(-1);
  const rows: Prediction[] = [];
  let [right, known] = [0, 0];
  const best = await Promise.all(read.map(({ index }) => likeliest(source, name, index)));
  for (const [order, { index, token }] of read.entries()) {
    const row = best[order];
    if (row === undefined) break;
    // What stands for a hidden word may be the model's own guess: that is no proof of it.
    const own = hidden.length > 0 ? undefined : words[next ? token + 1 : token];
    const guesses = row.map(([id, share]): Guess => {
      const text = names.label(name, "vocabulary", id, sentence).text;
      const found = { text, share, name, cell: [...index, id] };
      return own === undefined ? found : { ...found, right: run.words.vocabulary[id] === own };
    });
    if (own !== undefined) known += 1;
    if (guesses[0]?.right === true) right += 1;
    const word = names.word(side, sentence, token);
    rows.push({ asked: next ? say`${token}: after ${word.text}` : word.text, hidden: word.hidden, guesses });
  }
  if (hidden.length > 0)
    return said(rows, (answers) =>
      hidden.length > 1
        ? say`For the hidden words it answers ${answers}.`
        : say`For the hidden word it answers ${answers}.`,
    );
  const several = counted(known, "token");
  const target = run.model.stacks.length > 1;
  const ownFirst = (): string => {
    if (known < 2) return "";
    if (!next) return say` Its first choice is right for ${right} of ${several}.`;
    return say` Its first choice is right for ${right} of ${several} after the first.`;
  };
  const many = rows.length > PLACES;
  if (!next) {
    const note =
      (many ? say`The first ${PLACES} of ${rows.length} tokens, counted from 0. ` : "") +
      (known > 0 ? say`✓: the token that is there in the text.` : "");
    return { said: [say`No word was hidden.${ownFirst()}`], rows: rows.slice(0, PLACES), note };
  }
  const note =
    (many ? say`The last ${PLACES} of ${rows.length} tokens, counted from 0. ` : "") +
    (known > 0 ? say`✓: the token that comes next in the text.` : "");
  const shown = rows.slice(-PLACES);
  if (rows.length > 1 && target) {
    const tops = rows.map(({ guesses }) => guesses[0]?.text ?? "");
    const text = `${tops.slice(0, TOKENS).join(" ")}${tops.length > TOKENS ? " …" : ""}`;
    return { said: [...say`Token by token it answers ${{ text, of: "hidden" }}.`, ownFirst()], rows: shown, note };
  }
  const last = said(
    rows.slice(-1).map((row) => ({ ...row, asked: row.asked.replace(/^\d+: /, "") })),
    (answers) => say`It expects, ${answers}.`,
    (asked, answer) => [asked, ": ", ...answer],
  );
  return { said: [...last.said, ownFirst()], rows: shown, note };
}

/** Labels of tokens: the tokens that have another label than the most frequent one; or where a span starts and ends. */
async function marked(names: Names, source: Source, sentence: number): Promise<Predicted> {
  const name = "token_head.probabilities";
  const formula = names.formulas.get(name);
  const side = formula?.tokens ?? "inputs";
  const [, tokens = 1, labels = 1] = source.shape(name) ?? [];
  const all = (await source.numbersAt(name, [sentence])) ?? [];
  const known = names.run.words[side][sentence]?.length ?? tokens;
  const word = (token: number): string => names.word(side, sentence, token).text;
  const label = (index: number): string => names.label(name, "label", index, sentence).text;
  const guess = (token: number, index: number, text: string): Guess => {
    return { text, share: all[token * labels + index] ?? 0, name, cell: [sentence, token, index] };
  };
  if (formula?.rule["over"] === "token") {
    const rows = range(labels, (index): Prediction => {
      const column = range(known, (token) => all[token * labels + index] ?? 0);
      const guesses = largest(column, ANSWERS_LISTED).map(([token]) => guess(token, index, word(token)));
      return { asked: label(index), hidden: false, guesses };
    });
    return said(
      rows,
      (answers) => [...answers, "."],
      (asked, answer) => say`${asked} most likely at ${answer}`,
    );
  }
  // The best sequence of labels need not have the likeliest label of each token: its own stands first.
  const crf = "token_head.crf.path";
  const path = names.formulas.has(crf) ? ((await source.numbersAt(crf, [sentence])) ?? all) : all;
  const row = (of: ArrayLike<number>, token: number): number[] => {
    return range(labels, (index) => of[token * labels + index] ?? 0);
  };
  // Some tokens have no label: marks around the text, later parts of a word.
  const fact = `${side}.labelled`;
  const labelled = fact in names.run.facts ? await source.numbersAt(fact, [sentence]) : undefined;
  const best = range(known, (token) => {
    return labelled?.[token] === 0 ? NONE : (largest(row(path, token), 1)[0]?.[0] ?? NONE);
  });
  const counts = range(labels, (index) => best.filter((each) => each === index).length);
  const common = largest(counts, 1)[0]?.[0] ?? 0;
  const rows = best.flatMap((own, token): Prediction[] => {
    if (own === common || own === NONE) return [];
    const others = largest(row(all, token), ANSWERS_LISTED).filter(([index]) => index !== own);
    const guesses = [own, ...others.map(([index]) => index)].slice(0, ANSWERS_LISTED);
    return [{ asked: word(token), hidden: false, guesses: guesses.map((index) => guess(token, index, label(index))) }];
  });
  if (rows.length > 0) {
    return said(
      rows,
      (answers) => say`It marks ${answers}.`,
      (asked, answer) => say`${asked} as ${answer}`,
    );
  }
  return { said: say`It gives every token the label ${{ text: label(common), of: "hidden" }}.`, rows };
}
