/** From one model to the next: what was taken over, what is new, which parts training has moved and how far. */

import { cut } from "../../draw/box.ts";
import { Pen } from "../../draw/pen.ts";
import { counted, grouped, percent, short } from "../../numbers/written.ts";
import type { Scout } from "../../scout/scout.ts";
import { say } from "../../words/say.ts";
import { arrow, type Board, drawText } from "../board/board.ts";

/** The weight that moved furthest; `added`: what an adapter added to it, products of two rows times a scale. */
interface Largest {
  readonly name: string;
  readonly cell: readonly number[];
  readonly before: number;
  readonly after: number;
  readonly added?: { readonly scale: number; readonly up: readonly number[]; readonly down: readonly number[] };
}

interface Part {
  readonly part: string;
  readonly numbers: number;
  readonly moved: number;
  readonly change: number | null;
  readonly largest: Largest | null;
  /** The layers to whose weights low-rank adapters were added and trained. */
  readonly adapted: readonly string[];
  readonly new: number;
  readonly gone: number;
}

/** As `glassformer/page/sections/related.py` writes it. */
export interface Moved {
  readonly start: string;
  readonly freeze: readonly string[];
  readonly parts: readonly Part[];
}

export function largestRead(_: Scout, __: readonly number[], told: unknown): string[] {
  return told == null ? [] : (told as Moved).parts.flatMap(({ largest }) => (largest === null ? [] : [largest.name]));
}

/** What became of a part. */
function became({ numbers, moved, change, new: fresh }: Part): string {
  if (numbers === 0) return fresh > 0 ? say`new` : say`not taken over`;
  if (moved === 0) return say`did not move`;
  const more = fresh > 0 ? say`, ${grouped(fresh)} new` : "";
  return `${change === null ? say`moved` : say`moved by ${share(change)}`}${more}`;
}

/** ` adds 2 · (0.012 · 0.31 + 7 more)`: what the adapter of its layer has added to a weight, with so many of its products. */
function adaptedText({ added }: Largest, most: number): string {
  if (added === undefined) return "";
  const { scale, up, down } = added;
  const factor = (value: number): string => (value < 0 ? `(${short(value)})` : short(value));
  const products = up.slice(0, most).map((one, at) => `${factor(one)} · ${factor(down[at] ?? 0)}`);
  const more = up.length > products.length ? say` + ${up.length - products.length} more` : "";
  return say` adds ${short(scale)} · (${products.join(" + ")}${more})`;
}

/** How far, as a share of its size: small ones too. */
function share(change: number): string {
  return change < 0.01 ? `${short(100 * change)} %` : percent(change);
}

const [ROW, BOX] = [40, 28];

export function drawTransfer(board: Board): number {
  const { s, look, width, panels } = board;
  const { palette } = look;
  const { ink, quiet, hair } = palette;
  const pen = new Pen(board.items);
  const told = board.told as Moved;
  const narrow = width < 640;
  const wide = narrow ? Math.min(112, (width - 24) / 2) : Math.min(200, width * 0.2);
  const right = wide + (narrow ? 24 : 48);
  const beside = narrow ? 0 : right + wide + 16;
  const most = Math.max(...told.parts.map(({ change }) => change ?? 0));
  pen.text(0, 14, told.start, ink, { size: 14, bold: true });
  pen.text(right, 14, s.names.run.title, ink, { size: 14, bold: true });
  let y = 24;
  for (const part of told.parts.toReversed()) {
    const { part: unit, numbers, moved, change, largest, gone } = part;
    const title = s.names.unit(unit);
    if (numbers + gone > 0) {
      pen.rect(0, y, wide, BOX, palette.faint);
      pen.text(8, y + 18, title, numbers === 0 ? quiet : ink);
    }
    if (numbers > 0) arrow(board, wide + 4, y + BOX / 2, right - 4, y + BOX / 2);
    if (numbers + part.new > 0) {
      // The square root: a tenth of the largest change is still seen.
      const strength = most === 0 || change === null ? 0 : Math.sqrt(change / most);
      const role = numbers === 0 ? "hidden" : "key";
      const fill = moved === 0 && numbers > 0 ? palette.faint : palette.cell(role, numbers === 0 ? 0.6 : strength);
      pen.rect(right, y, wide, BOX, fill);
      if (moved === 0 && numbers > 0) pen.frame(right, y, wide, BOX, hair);
      pen.text(
        right + 8,
        y + 18,
        title,
        moved === 0 && numbers > 0 ? ink : palette.on(role, numbers === 0 ? 0.6 : strength),
      );
    }
    const count = numbers === 0 ? part.new + gone : numbers;
    const says = became(part);
    const [x, at] = narrow ? [0, y + BOX + 14] : [beside, y + (largest === null ? 18 : 12)];
    pen.text(x, at, says, ink, { bold: true });
    const facts =
      moved > 0 && moved < numbers ? say`${grouped(moved)} of ${counted(numbers, "weight")}` : counted(count, "weight");
    const more = part.adapted.length > 0 ? `, ${counted(part.adapted.length, "adapter")}` : "";
    pen.text(x + look.measure(says, 12, true) + 8, at, facts + more, quiet);
    if (largest !== null) {
      const text = `${short(largest.before, 4)} → ${short(largest.after, 4)}`;
      const down = at + 16;
      pen.text(x, down, say`most: `, quiet);
      const from = x + look.measure(say`most: `, 12);
      pen.text(from, down, text, palette.text("key"));
      const after = from + look.measure(text, 12);
      const added = adaptedText(largest, 1);
      pen.text(after, down, cut(added && say`; the adapter${added}`, width - after, look.measure), quiet);
      const cell = [...largest.cell];
      panels.push({
        ...{
          tensor: largest.name,
          x: from - 2,
          y: down - 12,
          w: look.measure(text, 12) + 4,
          h: 16,
          rows: 1,
          columns: 1,
        },
        cell: () => cell,
        find: (wanted) => (wanted.join() === cell.join() ? [0, 0] : null),
      });
    }
    y += narrow ? ROW + 36 : ROW;
  }
  return drawText(board, 0, y + 20, summedUp(told));
}

function summedUp({ parts, freeze, start }: Moved): string {
  const sum = (of: (part: Part) => number): number => parts.reduce((all, part) => all + of(part), 0);
  const [taken, moved, fresh, gone] = [
    sum((p) => p.numbers),
    sum((p) => p.moved),
    sum((p) => p.new),
    sum((p) => p.gone),
  ];
  const frozen = freeze.length > 0 ? say` The recipe froze ${freeze.join(", ")}.` : "";
  return say`${grouped(taken)} weights have the name and shape that they have in ${start}, ${grouped(moved)} of them another value; ${grouped(fresh)} are new, ${grouped(gone)} were left behind.${frozen} “Moved by” is the length of the difference as a share of the length before; “most” is the weight that moved furthest.`;
}

export function transferTable({ told, s }: Board): string[][] {
  const rows = (told as Moved).parts.map((part) => [
    s.names.unit(part.part),
    ...[part.numbers, part.moved, part.new, part.gone].map(grouped),
    part.change === null ? "" : part.change.toPrecision(4),
    part.largest === null ? "" : `${short(part.largest.before, 6)} → ${short(part.largest.after, 6)}`,
    part.adapted.length === 0
      ? ""
      : `${part.adapted.join(", ")}${part.largest === null ? "" : adaptedText(part.largest, 1024)}`,
  ]);
  return [
    ["part", say`weights taken over`, say`moved`, say`new`, say`not taken over`, "change", "largest", "adapters"],
    ...rows,
  ];
}
