/** Published sizes and those of this model, on one scale: blocks, width, heads and weights. */

import { Pen } from "../../draw/pen.ts";
import { colourOf } from "../../levels/model/model_scene.ts";
import { KIND_WORDS, KINDS, type Kind, partsOf, rough, unread } from "../../levels/model/parts.ts";
import { counted, grouped } from "../../numbers/written.ts";
import type { Sizes } from "../../record/record.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import type { Board } from "../board/board.ts";

type Weights = Readonly<Record<Kind, number>>;

/**
 * The weights of a BERT of these sizes without a head, by what they are for (Devlin et al. 2019; counted as in
 * `modeling.py` of google-research/bert): three tables; in each block four square matrices and two of the feed-forward
 * network, all with biases, and two norms; a norm after the tables, and the pooler.
 */
export function weightsOf({ layers, width: w, feed_forward: f, vocabulary, positions, segments }: Sizes): Weights {
  const norm = 2 * w;
  return {
    table: (vocabulary + positions + segments) * w,
    attention: layers * (4 * (w * w + w) + norm),
    forward: layers * (2 * w * f + f + w + norm),
    rest: norm + w * w + w,
  };
}

export function sum(weights: Weights): number {
  return KINDS.reduce((all, kind) => all + weights[kind], 0);
}

/** One model of the picture; of the run's model its blocks can be opened. */
interface Shown {
  readonly name: string;
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly weights: Weights;
  readonly side: string;
}

export function shownOf(s: Scout): Shown[] {
  const { run } = s.names;
  const parts = partsOf(s.names);
  const { stacks } = run.model;
  return [
    ...(run.documents?.sizes ?? []).map((each) => ({ ...each, weights: weightsOf(each), side: "" })),
    ...stacks.map((stack, order) => {
      // What follows both stacks is counted with the second.
      const last = order === stacks.length - 1;
      const weights: Record<Kind, number> = {
        table: 0,
        attention: 0,
        forward: 0,
        rest: last ? unread(parts, s.names) : 0,
      };
      for (const { side, kinds } of parts) {
        if (side === stack.side || (last && side === "end")) for (const kind of KINDS) weights[kind] += kinds[kind];
      }
      return { ...stack, name: stacks.length > 1 ? say`this model, ${stack.side}` : say`this model`, weights };
    }),
  ];
}

const [BLOCK, LINE, GAP] = [11, 24, 24];

export function drawSizes(board: Board): number {
  const { s, look, width, panels } = board;
  const { palette, measure } = look;
  const pen = new Pen(board.items);
  const all = shownOf(s);
  const room = (width - GAP * (all.length - 1)) / all.length;
  const widest = Math.max(...all.map((each) => each.width));
  const side = Math.min(BLOCK, 264 / Math.max(...all.map(({ layers }) => layers)));
  const factsOf = (each: Shown): string[] => [
    ...[counted(each.layers, "block"), say`width ${each.width}`, counted(each.heads, "head")],
  ];
  const one = all.every((each) => measure(factsOf(each).join(", "), 12) <= room);
  const top = one ? 48 : 80;
  all.forEach((each, column) => {
    const [x, own] = [column * (room + GAP), each.side !== ""];
    const name = own && measure(each.name, 14, true) > room + GAP - 8 ? each.side : each.name;
    pen.text(x, 14, name, palette.ink, { size: 14, bold: own });
    const facts = factsOf(each);
    (one ? [facts.join(", ")] : facts).forEach((text, line) => {
      pen.text(x, 32 + line * 16, text, palette.quiet);
    });
    const [w, h] = [Math.max(2, (room * each.width) / widest), side - 2];
    for (let block = 0; block < each.layers; block++) {
      const y = top + block * side;
      pen.rect(x, y, w, h, palette.cell("attention", own ? 0.7 : 0.25));
      for (let head = 1; head < each.heads && w / each.heads >= 3; head++) {
        pen.rect(x + (w * head) / each.heads, y, 1, h, palette.paper);
      }
      const tensor = `${each.side}.blocks.${block}.self_attention.weights`;
      if (!own || s.fetch(tensor) === undefined) continue;
      panels.push({
        ...{ tensor, x, y, w, h, rows: 1, columns: each.heads },
        cell: (_, head) => s.cell(tensor, { head }),
        find: (cell) => [0, Math.min(cell[1] ?? 0, each.heads - 1)],
      });
    }
  });
  return drawWeights(board, all, top + side * Math.max(...all.map(({ layers }) => layers)) + 24);
}

/** A bar for each model, on one scale, and below what it is made of. */
function drawWeights(board: Board, all: readonly Shown[], top: number): number {
  const { look, width } = board;
  const { palette, measure } = look;
  const pen = new Pen(board.items);
  const labels = Math.max(...all.map(({ name }) => measure(name, 12, true))) + 12;
  const most = Math.max(...all.map(({ weights }) => sum(weights)));
  pen.text(0, top + 12, say`Weights`, palette.ink, { size: 14, bold: true });
  let y = top + 24;
  for (const { name, weights, side } of all) {
    const bold = side !== "";
    pen.text(0, y + 14, name, palette.ink, { bold });
    let left = labels;
    for (const kind of KINDS) {
      const wide = ((width - labels - 56) * weights[kind]) / most;
      pen.rect(left, y + 4, wide, 12, colourOf(kind, palette));
      left += wide;
    }
    pen.text(left + 8, y + 14, rough(sum(weights)), palette.ink, { bold });
    y += LINE;
  }
  y += 8;
  let x = 0;
  for (const kind of KINDS) {
    const wide = 38 + measure(KIND_WORDS[kind], 12);
    if (x + wide > width) [x, y] = [0, y + LINE];
    pen.rect(x, y + 2, 12, 12, colourOf(kind, palette));
    pen.text(x + 18, y + 12, KIND_WORDS[kind], palette.quiet);
    x += wide;
  }
  return y + 24;
}

/** The same as a table, with every count. */
export function sizesTable(s: Scout): string[][] {
  const counts = shownOf(s).map(({ name, layers, width, heads, weights }) => {
    const all = [layers, width, heads, ...KINDS.map((kind) => weights[kind]), sum(weights)];
    return [name, ...all.map((each) => grouped(each))];
  });
  return [
    [say`model`, say`blocks`, say`width`, say`heads`, ...KINDS.map((kind) => KIND_WORDS[kind]), say`weights in all`],
    ...counts,
  ];
}
