/** Queries or keys that were turned by their positions: each pair of channels as a dial. */

import { isOperand } from "../../../run/evaluator.ts";
import { short } from "../../../run/numbers.ts";
import { placeIn } from "../grid_scene.ts";
import { type Dials, dialsIn, dialsScene, type Turn } from "./angles_scene.ts";
import { begin } from "./choices.tsx";
import { type Context, type Kind, ruleOf } from "./kind.ts";
import { worked } from "./positions.ts";

export const angles: Kind = {
  text: "as angles",
  fits: (sheet) => ruleOf(sheet).startsWith("rotate"),
  reads: ({ names, name }) => {
    const rule = names.formulas.get(name)?.rule;
    return [rule?.["x"], rule?.["position"]].flatMap((operand) => (isOperand(operand) ? [operand.name] : []));
  },
  draw(context) {
    const { sheet, cell, sentence, names, look, width } = context;
    const turn = turnsOf(context);
    const half = sheet.columns / 2;
    const [row, column] = placeIn(sheet, cell);
    const { angle } = turn(cell);
    const pair = column % half;
    const word = names.label(sheet.name, sheet.layout.rows ?? "", row, sentence).text;
    return {
      scene: dialsScene(dialsOf(context, turn, width), sheet, look),
      above: (
        <p class="says plain">
          Rotary: a position is not added to a vector; it turns each pair of channels of query and key by position ×
          rate, so that a score depends on the distance of two words. The thin hand is the pair before, the thick one
          after. Early pairs turn fast, late ones hardly.
        </p>
      ),
      below: (
        <p class="worked" aria-live="polite" data-worked={String(angle)}>
          {word}, pair {pair} (channels {pair} and {pair + half}): turned by <b>{short(angle)}</b> radians, which leaves{" "}
          {short(((angle * 180) / Math.PI) % 360, 1)}° after whole turns
        </p>
      ),
      step: (down, along) => {
        const bound = (place: number, count: number): number => Math.min(Math.max(place, 0), count - 1);
        return sheet.cell(cell, bound(row + down, sheet.rows), bound(pair + along, half));
      },
    };
  },
};

/** How the pair of a cell was turned, by the formula's own terms: own · cosine + partner · sine. */
function turnsOf({ sheet, names, store }: Context): (cell: readonly number[]) => Turn {
  const formula = names.formulas.get(sheet.name);
  const work = formula === undefined ? null : worked(formula, store);
  const half = sheet.columns / 2;
  return (cell) => {
    const [row, column] = placeIn(sheet, cell);
    const [first, second] = [sheet.cell(cell, row, column % half), sheet.cell(cell, row, (column % half) + half)];
    const found = work?.(Object.fromEntries(sheet.axes.map((axis, place) => [axis, first[place] ?? 0])));
    const [own = 0, partner = 0] = found?.terms.map((term) => term.factors[0]?.value ?? 0) ?? [];
    return {
      before: Math.atan2(partner, own),
      after: Math.atan2(sheet.value(second), sheet.value(first)),
      angle: found?.quantities["angle"] ?? 0,
    };
  };
}

/** The dials around the cell in hand, as many as fit. */
function dialsOf({ sheet, cell, sentence }: Context, turn: (cell: readonly number[]) => Turn, width: number): Dials {
  const room = dialsIn(width, 440);
  const [row, column] = placeIn(sheet, cell);
  const half = sheet.columns / 2;
  const [rows, columns] = [Math.min(room.rows, sheet.rows), Math.min(room.columns, half)];
  const [top, left] = [begin(row, rows, sheet.rows), begin(column % half, columns, half)];
  const at = (down: number, along: number): number[] => sheet.cell(cell, top + down, left + along);
  const word = (down: number): string => sheet.names.label(sheet.name, sheet.layout.rows ?? "", down, sentence).text;
  return {
    words: Array.from({ length: rows }, (_, down) => word(top + down)),
    pairs: Array.from({ length: columns }, (_, along) => left + along),
    turn: (down, along) => turn(at(down, along)),
    cell: at,
    place: (of) => [placeIn(sheet, of)[0] - top, (placeIn(sheet, of)[1] % half) - left],
  };
}
