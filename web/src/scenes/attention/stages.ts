/** The model as a closed box, as its stacks, and as its blocks, each with its output for one word. */

import { cut } from "../../draw/box.ts";
import { rounded } from "../../draw/scene.ts";
import { unmarked } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { counted } from "../../numbers/written.ts";
import type { StackSizes } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { arrow, type Board, caption, drawGrid, drawText, laidOut } from "../board/board.ts";

const STREAM = "sentence token channel";

/** What each block gives to the next one. */
export function outputsOf(s: Scout): string[] {
  const last = new Map<string, string>();
  for (const { unit, name, axes } of s.names.run.formulas) {
    if (unit.includes(".blocks.") && axes === STREAM) last.set(unit, name);
  }
  return [...last.values(), ...(s.has("head.probabilities") ? ["head.probabilities"] : [])];
}

export function drawStages(whole: Board): number {
  const board = { ...whole, width: Math.min(whole.width, 960) };
  const { s, look, width, items } = board;
  const { ink, quiet, hair } = look.palette;
  const { stacks } = s.names.run.model;
  const narrow = width < 560;
  const edge = narrow ? 88 : Math.min(192, width * 0.24);
  const words = s.names.run.words.inputs[s.sentence] ?? [];
  const given = words.map(unmarked).join(" ");
  const out = s.guesses.map((place) => said(s.likeliest(place.given, 1)[0]?.word)).join(" ");
  const gives = out === "" ? say`${stacks.at(-1)?.width ?? 0} numbers for each word` : out;
  const box = (x: number, y: number, w: number, h: number, text: string, small = ""): void => {
    items.push({
      x: x + 0.5,
      y: y + 0.5,
      w: w - 1,
      h: h - 1,
      fill: look.palette.faint,
      stroke: hair,
      line: 1,
    });
    items.push({
      x: x + w / 2,
      y: y + h / 2 + (small === "" ? 5 : -2),
      text,
      size: 14,
      fill: ink,
      bold: true,
      align: "center",
    });
    if (small !== "")
      items.push({
        x: x + w / 2,
        y: y + h / 2 + 15,
        text: small,
        fill: quiet,
        align: "center",
      });
  };
  /** Words at the left, boxes, words at the right. */
  const row = (y: number, boxes: readonly (readonly [string, string])[]): number => {
    const gap = narrow ? 16 : 32;
    const room = (width - 2 * edge - (boxes.length + 1) * gap) / boxes.length;
    const middle = y + 28;
    items.push({ x: 0, y: middle + 4, text: cut(given, edge - 8, look.measure), fill: ink });
    boxes.forEach(([text, small], place) => {
      const x = edge + gap + place * (room + gap);
      arrow(board, x - gap + 3, middle, x - 4, middle);
      box(x, y, room, 56, text, narrow ? "" : small);
    });
    const end = width - edge;
    arrow(board, end - gap + 3, middle, end - 4, middle);
    items.push({
      x: end + 4,
      y: middle + 4,
      text: cut(gives, edge - 8, look.measure),
      fill: look.palette.text("hidden"),
      bold: true,
    });
    return y + 56;
  };
  caption(board, 0, 12, say`1  closed`, "residual");
  let y = row(24, [["Transformer", counted(s.names.run.model.parameters, "weight")]]) + 40;
  caption(
    board,
    0,
    y - 12,
    stacks.length > 1
      ? say`2  two boxes`
      : stacks[0]?.side === "decoder"
        ? say`2  one box: the decoder`
        : say`2  one box: the encoder`,
    "residual",
  );
  y =
    row(
      y,
      stacks.map(({ side, width: wide }) => [side, say`${wide} wide`] as const),
    ) + 40;
  const told = stacks.map(({ layers }) => layers).join(" + ");
  caption(
    board,
    0,
    y - 12,
    stacks.reduce((sum, { layers }) => sum + layers, 0) === 1 ? say`3  ${told} block` : say`3  ${told} blocks`,
    "residual",
  );
  y = columns(board, y, stacks);
  const [only] = stacks;
  if (stacks.length > 1 || only === undefined)
    return drawText(
      board,
      0,
      y + 8,
      say`What the last block of the encoder gives goes into every block of the decoder.`,
    );
  const says =
    only.side === "encoder"
      ? say`This model is an encoder alone: it has no decoder, so it writes no text of its own.`
      : say`This model is a decoder alone: it has no encoder, so it reads only what comes before each word.`;
  return drawText(
    board,
    0,
    y + 8,
    say`${says} A model with both: glassformer explain en-fr "I am a student." --html page.html`,
  );
}

function said(word: ReturnType<Scout["word"]> | undefined): string {
  return typeof word === "object" ? word.text : (word ?? "");
}

/** The blocks of each stack on top of each other, the first at the bottom, as the notes draw them. */
function columns(board: Board, top: number, stacks: readonly StackSizes[]): number {
  const { s, look, width, items } = board;
  const { quiet, hair, ink } = look.palette;
  const gap = width < 560 ? 40 : 96;
  const most = Math.max(...stacks.map(({ layers }) => layers));
  const [high, step] = most > 12 ? [20, 24] : [28, 34];
  const wide = Math.min(264, (width - gap) / 2);
  const bottom = top + most * step;
  const outputs = outputsOf(s);
  const memory: { x: number; y: number }[] = [];
  stacks.forEach(({ side, layers }, place) => {
    const x = place * (wide + gap);
    const tokens = side === "decoder" && stacks.length > 1 ? "decoder_inputs" : "inputs";
    const count = s.names.run.words[tokens][s.sentence]?.length ?? 1;
    const token = side === "decoder" ? count - 1 : Math.min(s.seen[0] ?? 0, count - 1);
    for (let layer = 0; layer < layers; layer++) {
      const y = bottom - (layer + 1) * step;
      const name = outputs.find((each) => each.startsWith(`${side}.blocks.${layer}.`)) ?? "";
      items.push({
        x: x + 0.5,
        y: y + 0.5,
        w: wide - 1,
        h: high - 1,
        fill: look.palette.faint,
        stroke: hair,
        line: 1,
      });
      items.push({ x: x + 8, y: y + high / 2 + 4, text: say`block ${layer}`, fill: ink });
      if (layer > 0) items.push({ d: `M${x + wide / 2} ${y + step}v${high - step}`, stroke: quiet, line: 1.5 });
      const sheet = laidOut(s, name);
      const shown = Math.min(sheet.columns, Math.floor((wide - 76) / 14));
      drawGrid(board, {
        ...{ sheet, base: s.cell(name, { token }), x: x + 64, y: y + (high - 14) / 2, cw: 14, ch: 14, rows: [token] },
        columns: range(shown),
      });
      if (side === "encoder" && layer === layers - 1) memory.push({ x: x + wide, y: y + high / 2 });
      const [from] = memory;
      if (side === "decoder" && from !== undefined) {
        const turn = from.x + gap / 2;
        const d = rounded(
          [
            [from.x + 2, from.y],
            [turn, from.y],
            [turn, y + high / 2],
            [x - 3, y + high / 2],
          ].map(([a = 0, b = 0]) => [a, b] as const),
        );
        items.push({ d, stroke: look.palette.text("key"), line: 1.5 });
        items.push({
          d: `M${x - 8} ${y + high / 2 - 4}l5 4l-5 4`,
          stroke: look.palette.text("key"),
          line: 1.5,
        });
      }
    }
    const word = s.names.word(tokens, s.sentence, token).text;
    const text = cut(say`${side}, strips of ${word}`, wide, look.measure);
    items.push({ x, y: bottom + 14, text, fill: quiet });
  });
  return bottom + 32;
}
