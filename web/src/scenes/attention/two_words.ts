/** Two words of the sentence through one head and one block: x, q, k, v, score, weight, z, r, as the notes draw them. */

import { cut } from "../../draw/box.ts";
import { lastOf } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { counted, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { heard, say } from "../../words/say.ts";
import type { Ask } from "../board/ask.ts";
import { type Board, drawCell, drawText, laidOut } from "../board/board.ts";
import { drawOne, drawStrip } from "../board/strip.ts";

const ROW = 32;

export function TWO_WORDS(s: Scout): Ask[] {
  const words = s.all.map((token) => s.names.word(s.side, s.sentence, token).text);
  const { query, key, head, block } = shared(s);
  const counted = (count: number): string[] => range(count, String);
  return [
    { label: say`the word that looks`, options: words, usual: query },
    { label: say`a word it looks at`, options: words, usual: key },
    // Also where the weights are too large to be fetched, which the picture says.
    { label: say`head`, options: counted(s.fetch(s.of("weights"))?.shape[1] ?? 1), usual: head },
    { label: say`block`, options: counted(attentions(s).length), usual: block },
  ];
}

/** The self-attention of each block of the stack that is followed. */
function attentions(s: Scout): string[] {
  const ends = ".self_attention.weights";
  return s.ending("weights").flatMap(({ name }) => {
    return name.startsWith(`${s.stack}.`) && name.endsWith(ends) ? [name.slice(0, -".weights".length)] : [];
  });
}

/** A pair of words of which one shares its weight out between both, of all blocks at hand; else the usual example. */
function shared(s: Scout): { query: number; key: number; head: number; block: number } {
  const seen = s.seen.filter((token) => !s.isHidden(token)).slice(0, 32);
  let best = { ...s.example, block: 0 };
  let most = 0.02;
  attentions(s).forEach((name, block) => {
    const weights = s.fetch(`${name}.weights`);
    if (weights === undefined) return;
    const [sentences = 1, heads = 1] = weights.shape;
    const share = (head: number, query: number, key: number): number => {
      return at(weights, [Math.min(s.sentence, sentences - 1), head, query, key]);
    };
    for (let head = 0; head < heads; head++) {
      for (const query of seen) {
        for (const key of share(head, query, query) > most ? seen : []) {
          const least = Math.min(share(head, query, query), share(head, query, key));
          if (key !== query && least > most) [best, most] = [{ query, key, head, block }, least];
        }
      }
    }
  });
  return best;
}

/** The tensors of a block, and what goes into it. */
export function readsOfBlock(s: Scout, [, , , block = 0]: readonly number[]): string[] {
  const attention = attentions(s)[block] ?? s.attention;
  const unit = s.formula(`${attention}.weights`)?.unit;
  const own = s.names.run.formulas.filter((formula) => formula.unit === unit).map(({ name }) => name);
  return [...s.operands(`${attention}.query`), ...own];
}

/** At most so many channels stand in the table. */
const CHANNELS = 16;

/** Weight × value of both words, what the others give, and z, the sum: the products are cells of no tensor. */
export function twoWordsTable(s: Scout, [query = 0, key = 0, head = 0, block = 0]: readonly number[]): string[][] {
  const attention = attentions(s)[block] ?? s.attention;
  const [weights, value, mixed] = ["weights", "value", "mixed"].map((last) => `${attention}.${last}`) as [
    string,
    string,
    string,
  ];
  const size = s.size(value, "channel");
  const channels = range(Math.min(CHANNELS, size));
  const tokens = query === key ? [query] : [query, key];
  const products = tokens.map((token) => {
    const share = s.value(weights, { head, query, key: token });
    return channels.map((channel) => share * s.value(value, { head, query: token, key: token, token, channel }));
  });
  const z = channels.map((channel) => s.value(mixed, { head, query, key: query, token: query, channel }));
  const word = (token: number): string => s.names.word(s.side, s.sentence, token).text;
  const written = (name: string, row: readonly number[]): string[] => [name, ...row.map((each) => short(each))];
  const left = z.map((sum, channel) => sum - products.reduce((all, row) => all + (row[channel] ?? 0), 0));
  const many = s.tokens > tokens.length;
  return [
    [say`weight × value, ${channels.length} of ${size} channels`, ...channels.map(String)],
    ...tokens.map((token, place) => written(`${word(query)} → ${word(token)}`, products[place] ?? [])),
    ...(many ? [written(counted(s.tokens - tokens.length, "other word"), left)] : []),
    written(say`z of ${word(query)}: their sum`, z),
  ];
}

/** What every word's vector becomes after the heads: W_O, residuals, norms, the feed-forward network. */
function streams(s: Scout, at: readonly number[], output: string): string[] {
  const names = readsOfBlock(s, at).filter((name) => s.formula(name)?.axes === "sentence token channel");
  const inside = ["merged", "hidden", "activated", "gate", "gated"];
  return names.slice(names.indexOf(output)).filter((name) => !inside.includes(lastOf(name)));
}

export function drawTwoWords(board: Board): number {
  const { s, look, width, items } = board;
  const [query = 0, key = 0, head = 0, block = 0] = board.at;
  const attention = attentions(s)[block] ?? s.attention;
  const of = (last: string): string => `${attention}.${last}`;
  const narrow = width < 560;
  const left = narrow ? 84 : 152;
  const room = Math.min(400, Math.floor((width - left) / 2));
  const tokens = query === key ? [query] : [query, key];
  const given = (token: number) => ({ head, query: token, key: token, token });
  const quiet = look.palette.quiet;
  let y = 24;
  const label = (mark: string, text: string, role: Parameters<typeof look.palette.text>[0]): void => {
    const [bold, most] = [look.palette.text(role), left - 24];
    items.push({ x: 0, y: y + 17, text: mark, size: 14, fill: bold, bold: true });
    // Where there is no room next to the cells it is written on two lines.
    const words = text.split(" ");
    let first = words.shift() ?? "";
    while (words[0] !== undefined && look.measure(`${first} ${words[0]}`, 12) <= most) first += ` ${words.shift()}`;
    const lines = words.length === 0 ? [first] : [first, words.join(" ")];
    lines.forEach((line, place) => {
      const below = y + (lines.length === 1 ? 16 : 10 + 13 * place);
      items.push({ x: 20, y: below, text: cut(line, most, look.measure), fill: quiet });
    });
  };
  const vectors = (mark: string, text: string, name: string): void => {
    label(mark, text, s.names.role(name));
    tokens.forEach((token, place) => {
      drawStrip(board, name, given(token), left + place * room, y, room - 16);
    });
    y += ROW;
  };
  const heading = (text: string): void => {
    items.push({ x: 0, y: y + 22, text, fill: quiet, bold: true });
    items.push({ x: 0, y: y + 4, w: width, h: 1, fill: look.palette.hair });
    y += ROW;
  };

  tokens.forEach((token, place) => {
    const { text, hidden } = s.names.word(s.side, s.sentence, token);
    const fill = hidden ? look.palette.text("hidden") : look.palette.ink;
    const shown = look.measure(text, 18, true) > room - 16 ? cut(text, (room - 16) / 1.6, look.measure) : text;
    items.push({ x: left + place * room, y: 16, text: shown, size: 18, fill, bold: true });
  });
  const [input = s.embed("sum")] = s.operands(of("query"));
  vectors("x", s.names.title(input), input);
  for (const last of ["query", "key", "value"]) vectors(last.slice(0, 1), heard(last), of(last));

  heading(say`${s.names.word(s.side, s.sentence, query).text} looks`);
  const square = s.formula(of("weights"))?.axes;
  const formulas = s.names.run.formulas.filter(({ name, axes }) => {
    return name.startsWith(`${attention}.`) && axes === square && lastOf(name) !== "may_look";
  });
  for (const { name, rule } of formulas) {
    const last = lastOf(name);
    const by = rule["by"];
    const how = typeof by === "number" ? `÷ ${short(1 / by, 2)}` : last === "weights" ? "softmax" : s.names.title(name);
    label(last === "scores" ? "q·k" : "", last === "scores" ? "" : how, "attention");
    tokens.forEach((key, place) => {
      drawOne(board, name, { head, query, key }, left + place * room, y);
    });
    y += ROW;
  }
  const weights = of("weights");
  const share = (token: number): number => s.value(weights, { head, query, key: token });
  const others = s.all.filter((token) => !tokens.includes(token));
  const rest = others.reduce((sum, token) => sum + share(token), 0);

  label("×", say`weight × value`, "value");
  const value = laidOut(s, of("value"));
  tokens.forEach((token, place) => {
    const count = Math.min(6, value.columns, Math.max(1, Math.floor((room - 16) / 40)));
    const cw = Math.min(48, (room - 16) / count);
    for (let channel = 0; channel < count; channel++) {
      const product = share(token) * at(value.tensor, s.cell(value.name, { ...given(token), channel }));
      const box = { x: left + place * room + channel * cw + 0.5, y: y + 0.5, w: cw - 1, h: 23 };
      drawCell(items, look, box, "value", value.strength(product), product);
    }
  });
  y += ROW;
  label("z", say`their sum`, "value");
  drawStrip(board, of("mixed"), given(query), left, y, room - 16);
  y += ROW;
  if (others.length > 0) {
    const text = say`In the sum: ${short(rest)} of the weight is on ${counted(others.length, "other word")}.`;
    y = drawText(board, narrow ? 0 : left, y + 14, text) - 4;
  }

  heading(say`From z to r, with what all heads made`);
  const after = streams(s, board.at, of("output"));
  after.forEach((name, place) => {
    const last = place === after.length - 1;
    vectors(last ? "r" : name === of("output") ? "z" : "", s.names.title(name), name);
  });
  const next = after.at(-1) ?? "";
  const unit = s.names.readers(next).find(([formula]) => formula.unit !== s.formula(next)?.unit)?.[0].unit;
  if (unit !== undefined) y = drawText(board, narrow ? 0 : left, y + 14, say`r goes into ${s.names.unit(unit)}.`);
  return y;
}
