/** The numbers of one place, the largest first, with the right word marked and the others added up. */

import { lastOf } from "../../../formulas/names.ts";
import { range } from "../../../numbers/arithmetic.ts";
import { grouped, more, short } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";
import { type Bar, barListScene } from "./bar_list_scene.ts";
import { Places } from "./choices.tsx";
import type { Context, Kind } from "./kind.ts";
import { isScored, rightEntry, told } from "./right_words.ts";

/** So many of the largest are listed. */
const LISTED = 10;

export const sorted: Kind = {
  text: say`sorted`,
  fits: isScored,
  reads: told,
  draw(context) {
    const { sheet, cell, look, width } = context;
    const { bars, says } = sortedBars(context);
    const held = bars.findIndex((bar) => bar.cell.join() === cell.join());
    return {
      scene: barListScene(bars, look, Math.min(width, 720)),
      table: bars,
      above: (
        <>
          <Places {...context} />
          <p class="says plain">{says}</p>
        </>
      ),
      step: (down) => {
        const next = bars[Math.max(held + down, 0)];
        return down === 0 || next?.tensor !== sheet.name ? null : next.cell;
      },
    };
  },
};

/** The largest numbers of the row in which the cell lies; the right one always among them. */
function sortedBars(context: Context): { bars: Bar[]; says: string } {
  const { sheet, cell, names } = context;
  const right = rightEntry(context, cell);
  const axis = sheet.axes.at(-1) ?? "";
  const at = (entry: number): number[] => [...cell.slice(0, -1), entry];
  const values = range(sheet.size(axis), (entry) => sheet.value(at(entry)));
  const value = (entry: number): number => values[entry] ?? 0;
  const order = values.map((_, entry) => entry).sort((one, two) => value(two) - value(one));
  const rank = right === null ? -1 : order.indexOf(right);
  const first = order.slice(0, LISTED);
  if (right !== null && rank >= LISTED) first.push(right);
  const shares = lastOf(sheet.name) === "probabilities";
  // Scores have no zero of their own: bars begin at the lowest that is listed.
  const lowest = shares ? 0 : Math.min(...first.map(value));
  const spread = shares ? 1 : Math.max(...first.map(value)) - lowest || 1;
  const label = (entry: number): string => names.label(sheet.name, axis, entry, cell[0] ?? 0).text;
  const bars = first.map((entry): Bar => {
    const mark = entry !== right ? "" : rank < LISTED ? say`right` : say`right, ${ordinal(rank + 1)}`;
    const share = (value(entry) - lowest) / spread;
    return { label: label(entry), digits: short(value(entry)), share, mark, tensor: sheet.name, cell: at(entry) };
  });
  const rest = order.filter((entry) => !first.includes(entry));
  if (rest.length > 0) {
    const sum = rest.reduce((all, entry) => all + value(entry), 0);
    const digits = shares ? say`${short(sum)} together` : say`none above ${short(value(rest[0] ?? 0))}`;
    const share = shares ? sum : 0;
    bars.push({ label: more(rest.length, order.length), digits, share, mark: "", tensor: "", cell: [] });
  }
  const where = names.cell(sheet.name, cell, sheet.axes.slice(0, -1)) || say`this place`;
  const begins = say`At ${where} the model puts ${label(order[0] ?? 0)} first.`;
  if (right === null) return { bars, says: begins };
  const known =
    rank === 0 ? say`That is right.` : say`Right would be ${label(right)}, its ${ordinal(rank + 1)} choice.`;
  return { bars, says: `${begins} ${known}` };
}

function ordinal(number: number): string {
  const [told, last] = [grouped(number), number % 10];
  const teen = number % 100 > 10 && number % 100 < 14;
  if (teen || last === 0 || last > 3) return say`${told}th`;
  return last === 1 ? say`${told}st` : last === 2 ? say`${told}nd` : say`${told}rd`;
}
