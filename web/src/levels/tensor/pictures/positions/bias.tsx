/** What a distance adds to a score, head by head. */

import { toNumber } from "../../../../address/links.ts";
import type { Sheet } from "../../../../draw/sheet.ts";
import { range } from "../../../../numbers/arithmetic.ts";
import { short } from "../../../../numbers/written.ts";
import { say } from "../../../../words/say.ts";
import { type Context, type Kind, ruleOf } from "../kind.ts";
import { readFor, worked } from "./positions.ts";
import { type Strips, shownOf, stripsScene } from "./strips_scene.ts";

/** How far a distance is drawn on either side. */
const FAR = 32;

export const bias: Kind = {
  text: say`by distance`,
  fits: (sheet) => ruleOf(sheet) === "relative_bias",
  reads: readFor,
  draw(context) {
    const { sheet, cell, names } = context;
    const along = (axis: string): number => cell[sheet.axes.indexOf(axis)] ?? 0;
    const [head, distance] = [along("head"), along("key") - along("query")];
    const value = sheet.value(cell);
    return {
      scene: stripsScene(biasOf(context, head, distance), context.look, context.width),
      at: [head, distance + FAR],
      cellOf: (at) => cellOfDistance(sheet, cell, at),
      above: (
        <p class="says plain">
          {say`Learned, by distance: what each head adds to a score for how far the key is ahead of the query (below 0: before it). Near distances have a number each; far ones share one. Dots are the distances within this text.`}
        </p>
      ),
      below: (
        <p class="worked" data-worked={String(value)}>
          {say`head ${head}, distance ${short(distance)}: ${<a href={toNumber(sheet.name, cell, names)}>{short(value)}</a>}`}
        </p>
      ),
    };
  },
};

/** A cell with this head and distance; null where no two words of the text are so far apart. */
function cellOfDistance(
  sheet: Sheet,
  cell: readonly number[],
  at: readonly number[],
): { name: string; cell: number[] } | null {
  const [head = 0, step = 0] = at;
  const query = Math.max(FAR - step, 0);
  const key = query + step - FAR;
  if (query >= sheet.size("query") || key >= sheet.size("key")) return null;
  const named: Readonly<Record<string, number>> = { head, query, key };
  return { name: sheet.name, cell: sheet.axes.map((axis, place) => named[axis] ?? cell[place] ?? 0) };
}

function biasOf({ sheet, store, names }: Context, head: number, distance: number): Strips {
  const formula = names.formulas.get(sheet.name);
  const work = formula === undefined ? null : worked(formula, store);
  const distances = range(2 * FAR + 1, (step) => step - FAR);
  const shown = shownOf(sheet.size("head"), head);
  return {
    strips: shown.map((each) => {
      const curve = distances.map((far) => {
        return work?.({ sentence: 0, head: each, query: Math.max(-far, 0), key: Math.max(far, 0) }).result ?? 0;
      });
      const dots = curve.map((value, step) => (cellOfDistance(sheet, [], [each, step]) === null ? null : value));
      return { label: say`head ${each}`, held: each === head, curve, dots };
    }),
    steps: distances.map((far) => short(far)),
    fine: 1,
    step: distance + FAR,
    cell: (strip, step) => [shown[strip] ?? 0, step],
  };
}
