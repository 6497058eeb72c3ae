/** Two words of the sentence through one head and one block: x, q, k, v, score, weight, z, r, as the notes draw them. */

import { cut } from "../draw/box.ts";
import { lastOf } from "../run/names.ts";
import { counted, short } from "../run/numbers.ts";
import { at } from "../run/safetensors.ts";
import { type Board, drawCell, drawText, laidOut } from "./board.ts";
import type { Ask } from "./scenes.ts";
import type { Scout } from "./scout.ts";
import { drawOne, drawStrip } from "./strip.ts";

const ROW = 32;

export function TWO_WORDS(s: Scout): Ask[] {
  const words = s.all.map((token) => s.names.word(s.side, s.sentence, token).text);
  const { query, key, head } = s.example;
  const heads = Array.from({ length: s.heads }, (_, each) => String(each));
  return [
    { label: "the word that looks", options: words, usual: query },
    { label: "a word it looks at", options: words, usual: key },
    { label: "head", options: heads, usual: head },
  ];
}

/** The tensors of the first block, and what goes into it. */
export function readsOfBlock(s: Scout): string[] {
  const unit = s.formula(s.of("weights"))?.unit;
  const own = s.names.run.formulas.filter((formula) => formula.unit === unit).map(({ name }) => name);
  return [...s.operands(s.of("query")), ...own];
}

/** What every word's vector becomes after the heads: W_O, residuals, norms, the feed-forward network. */
function streams(s: Scout): string[] {
  const names = readsOfBlock(s).filter((name) => s.formula(name)?.axes === "sentence token channel");
  const inside = ["merged", "hidden", "activated", "gate", "gated"];
  return names.slice(names.indexOf(s.of("output"))).filter((name) => !inside.includes(lastOf(name)));
}

export function drawTwoWords(board: Board): number {
  const { s, look, width, items } = board;
  const [query = 0, key = 0, head = 0] = board.at;
  const narrow = width < 560;
  const left = narrow ? 84 : 152;
  const room = Math.floor((width - left) / 2);
  const tokens = query === key ? [query] : [query, key];
  const given = (token: number) => ({ head, query: token, key: token, token });
  const quiet = look.palette.quiet;
  let y = 24;
  const label = (mark: string, text: string, role: Parameters<typeof look.palette.text>[0]): void => {
    const [bold, most] = [look.palette.text(role), left - 24];
    items.push({ kind: "text", x: 0, y: y + 17, text: mark, size: 14, fill: bold, bold: true });
    items.push({ kind: "text", x: 20, y: y + 16, text: cut(text, most, look.measure), size: 12, fill: quiet });
  };
  const vectors = (mark: string, text: string, name: string): void => {
    label(mark, text, s.names.role(name));
    tokens.forEach((token, place) => {
      drawStrip(board, name, given(token), left + place * room, y, room - 16);
    });
    y += ROW;
  };
  const heading = (text: string): void => {
    items.push({ kind: "text", x: 0, y: y + 22, text, size: 12, fill: quiet, bold: true });
    items.push({ kind: "rect", x: 0, y: y + 4, w: width, h: 1, fill: look.palette.hair });
    y += ROW;
  };

  tokens.forEach((token, place) => {
    const { text, hidden } = s.names.word(s.side, s.sentence, token);
    const fill = hidden ? look.palette.text("hidden") : look.palette.ink;
    const shown = look.measure(text, 18, true) > room - 16 ? cut(text, (room - 16) / 1.6, look.measure) : text;
    items.push({ kind: "text", x: left + place * room, y: 16, text: shown, size: 18, fill, bold: true });
  });
  const [input = s.embed("sum")] = s.operands(s.of("query"));
  vectors("x", s.names.title(input), input);
  for (const last of ["query", "key", "value"]) vectors(last.slice(0, 1), `${last}, head ${head}`, s.of(last));

  heading(`${s.names.word(s.side, s.sentence, query).text} looks`);
  const square = s.formula(s.of("weights"))?.axes;
  const formulas = s.names.run.formulas.filter(({ name, axes }) => {
    return name.startsWith(`${s.attention}.`) && axes === square && lastOf(name) !== "may_look";
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
  const weights = s.of("weights");
  const share = (token: number): number => s.value(weights, { head, query, key: token });
  const rest = 1 - tokens.reduce((sum, token) => sum + share(token), 0);
  const others = s.tokens - tokens.length;

  label("×", "weight × value", "value");
  const value = laidOut(s, s.of("value"));
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
  label("z", `their sum, head ${head}`, "value");
  drawStrip(board, s.of("mixed"), given(query), left, y, room - 16);
  y += ROW;
  if (others > 0) {
    const text = `In the sum: ${short(Math.max(0, rest))} of the weight is on ${counted(others, "other word")}.`;
    y = drawText(board, narrow ? 0 : left, y + 14, text) - 4;
  }

  heading("From z to r, with what all heads made");
  const after = streams(s);
  after.forEach((name, place) => {
    const last = place === after.length - 1;
    vectors(last ? "r" : name === s.of("output") ? "z" : "", s.names.title(name), name);
  });
  const next = after.at(-1) ?? "";
  const unit = s.names.readers(next).find(([formula]) => formula.unit !== s.formula(next)?.unit)?.[0].unit;
  if (unit !== undefined) y = drawText(board, narrow ? 0 : left, y + 14, `r goes into ${s.names.unit(unit)}.`);
  return y;
}
