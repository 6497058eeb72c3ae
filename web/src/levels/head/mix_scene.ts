/** The values of the words, each times its weight, and their sum: what the word in hand takes with it from this head. */

import type { Measure } from "../../draw/box.ts";
import { cut } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import type { Label } from "../../formulas/names.ts";
import { inCell, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";

/** A word that is looked at: its weight, its value vector and the cell of its first number. */
export interface Part {
  readonly label: Label;
  readonly weight: number;
  readonly masked: boolean;
  readonly values: readonly number[];
  cell(channel: number): number[];
}

export interface Mix {
  readonly parts: readonly Part[];
  /** How many words are left out, and the weight that they hold. */
  readonly left: { readonly count: number; readonly mass: number };
  readonly sum: readonly number[];
  readonly value: string;
  readonly mixed: string;
  readonly word: string;
  sumCell(channel: number): number[];
}

const [ROW, HEAD, WEIGHT] = [24, 24, 56];

export function mixScene(mix: Mix, palette: Palette, measure: Measure, width: number): Scene {
  const channels = mix.sum.length;
  const labels = [...mix.parts.map((part) => part.label.text), say`${mix.left.count} others`, say`the sum`];
  const words = Math.min(Math.ceil(Math.max(...labels.map((text) => measure(text, 12, true)))), width < 560 ? 72 : 104);
  const gap = width < 560 ? 12 : 40;
  const cell = Math.min(40, (width - words - WEIGHT - gap - 8) / (2 * channels));
  const [one, two] = [words + WEIGHT + 8, words + WEIGHT + 8 + channels * cell + gap];
  const items: Item[] = [];
  const scale = Math.max(...mix.parts.flatMap((part) => part.values.map(Math.abs)), 1e-9);
  const draw = (value: number, x: number, y: number, none: boolean): void => {
    const strength = none ? 0 : Math.min(Math.abs(value) / scale, 1) ** 0.7 * 0.88;
    const space = cell > 4 ? 1 : 0;
    items.push({
      x: x + space / 2,
      y: y + 0.5,
      w: cell - space,
      h: ROW - 1,
      fill: palette.cell("value", strength),
    });
    if (none)
      items.push({
        d: `M${x + 2} ${y + ROW - 3}l${Math.min(cell - 4, 18)} -18`,
        stroke: palette.hair,
        line: 1,
      });
    if (cell < 34) return;
    const fill = none ? palette.quiet : palette.on("value", strength);
    items.push({
      x: x + cell / 2,
      y: y + 16,
      text: none ? "0" : inCell(value),
      fill,
      align: "center",
    });
  };
  const heading = { y: 12, fill: palette.text("value"), bold: true } as const;
  items.push({ ...heading, x: one, text: say`value` }, { ...heading, x: two, text: say`weight × value` });
  items.push({ ...heading, x: words + WEIGHT, text: say`weight`, align: "right", fill: palette.text("attention") });
  mix.parts.forEach(({ label, weight, masked, values }, row) => {
    const y = HEAD + row * ROW;
    const fill = label.hidden ? palette.text("hidden") : palette.ink;
    const word = cut(label.text, words, measure);
    items.push({ x: words, y: y + 16, text: word, fill, align: "right", bold: label.hidden });
    const share = weight === 0 ? "0" : short(weight);
    items.push({
      x: words + WEIGHT,
      y: y + 16,
      text: share,
      fill: palette.text("attention"),
      align: "right",
    });
    values.forEach((value, channel) => {
      draw(value, one + channel * cell, y, false);
      draw(weight * value, two + channel * cell, y, masked && weight === 0);
    });
  });
  let y = HEAD + mix.parts.length * ROW;
  if (mix.left.count > 0) {
    const quiet = { y: y + 16, fill: palette.quiet, align: "right" } as const;
    items.push({ ...quiet, x: words, text: say`${mix.left.count} others` });
    items.push({ ...quiet, x: words + WEIGHT, text: short(mix.left.mass) });
    y += ROW;
  }
  items.push({ x: two, y: y + 3, w: channels * cell, h: 1.5, fill: palette.ink });
  y += 8;
  const text = cut(say`sum: the mixed values of ${mix.word}`, two - 16, measure);
  items.push({ x: two - 12, y: y + 16, text, fill: palette.ink, align: "right", bold: true });
  mix.sum.forEach((value, channel) => {
    draw(value, two + channel * cell, y, false);
  });
  const none = (): null => null;
  const grid = { w: channels * cell, columns: channels, find: none } as const;
  const rows = mix.parts.length;
  const panels: Panel[] = [
    {
      ...grid,
      tensor: mix.value,
      x: one,
      y: HEAD,
      h: rows * ROW,
      rows,
      cell: (row, at) => mix.parts[row]?.cell(at) ?? [],
    },
    { ...grid, tensor: mix.mixed, x: two, y: HEAD, h: rows * ROW, rows, cell: (_, at) => mix.sumCell(at) },
    { ...grid, tensor: mix.mixed, x: two, y, h: ROW, rows: 1, cell: (_, at) => mix.sumCell(at) },
  ];
  return { width: two + channels * cell + 2, height: y + ROW + 8, items, panels };
}
