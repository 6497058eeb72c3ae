/** Queries or keys that were turned by their positions: each pair of channels as a dial. */

import type { VNode } from "preact";
import type { Sheet } from "../../../../draw/sheet.ts";
import { isOperand } from "../../../../formulas/evaluator.ts";
import { spoken } from "../../../../formulas/names.ts";
import { range } from "../../../../numbers/arithmetic.ts";
import { at as numberAt, type Tensor } from "../../../../numbers/safetensors.ts";
import { counted, short } from "../../../../numbers/written.ts";
import { say } from "../../../../words/say.ts";
import { placeIn } from "../../grid_scene.ts";
import { begin } from "../choices.tsx";
import { type Context, type Kind, ruleOf } from "../kind.ts";
import { type Dials, dialsIn, dialsScene, type Turn } from "./angles_scene.ts";
import { worked } from "./positions.ts";

export const angles: Kind = {
  text: say`as angles`,
  fits: (sheet) => ruleOf(sheet).startsWith("rotate"),
  reads: ({ names, name }) => {
    const rule = names.formulas.get(name)?.rule;
    return [rule?.["x"], rule?.["position"]].flatMap((operand) => (isOperand(operand) ? [operand.name] : []));
  },
  draw(context) {
    const { sheet, cell, sentence, names, look, width, store } = context;
    const [x, places] = (angles.reads?.(sheet) ?? []).map((name) => store.fetch(name));
    if (x === undefined || places === undefined) return null;
    const turn = turnsOf(context);
    const half = sheet.columns / 2;
    const [row, column] = placeIn(sheet, cell);
    const { angle } = turn(cell);
    const pair = column % half;
    const position = positionAt(places, sentence, row);
    const rate = rateOf(sheet, cell, pair, turn, (token) => positionAt(places, sentence, token));
    const turns = Math.floor(Math.abs(angle) / (2 * Math.PI));
    const heads = sheet.axes.findIndex((axis) => axis.endsWith("head"));
    const head = heads < 0 ? "" : `, ${spoken(sheet.axes[heads] ?? "")} ${cell[heads]}`;
    const at = (channel: number): number[] => sheet.cell(cell, row, channel);
    const shown = dialsOf(context, turn, width);
    const moved = (channel: number, where: string): VNode => (
      <>
        {say`channel ${channel}, ${where}: ${short(numberAt(x, at(channel)))} → ${(
          <b class={sheet.role} data-channel={channel}>
            {short(sheet.value(at(channel)))}
          </b>
        )}`}
      </>
    );
    const word = names.label(sheet.name, sheet.layout.rows ?? "", row, sentence).text;
    return {
      scene: dialsScene(shown, sheet, look),
      above: (
        <p class="says plain">
          {say`Rotary: a position is not added to a vector; it turns each pair of channels of query and key by position × rate, so that a score depends on the distance of two words. The thin hand is the pair before, the thick one after. Early pairs turn fast, late ones hardly. A hand points to the right by the first channel of its pair, up by the second.`}
        </p>
      ),
      below: (
        <>
          <p class="worked" aria-live="polite" data-worked={String(angle)}>
            {say`${word}${head}, position ${position}; pair ${pair}, ${short(rate, 5)} radians a position.`}{" "}
            {say`Turned by ${position} × ${short(rate, 5)} = ${<b>{short(angle)}</b>} radians, ${short(((angle * 180) / Math.PI) % 360, 1)}°${turns > 0 && say` after ${counted(turns, "whole turn")}`}.`}{" "}
            {say`In this pair ${moved(pair, say`to the right`)}; ${moved(pair + half, say`up`)}.`}
          </p>
          {shown.pairs.length < half && (
            <p class="label">
              {say`Pairs ${shown.pairs[0]} to ${shown.pairs.at(-1)} of ${half}: the arrow keys ← and → lead to the others.`}
            </p>
          )}
        </>
      ),
      step: (down, along) => {
        const bound = (place: number, count: number): number => Math.min(Math.max(place, 0), count - 1);
        return sheet.cell(cell, bound(row + down, sheet.rows), bound(pair + along, half));
      },
    };
  },
};

/** The position of a token, given with the text; one row of positions may be that of all texts. */
function positionAt(places: Tensor, sentence: number, token: number): number {
  return numberAt(places, [Math.min(sentence, (places.shape[0] ?? 1) - 1), token]);
}

/** The angle of a pair for one position; at position 0, where nothing is turned, that of another word. */
function rateOf(
  sheet: Sheet,
  cell: readonly number[],
  pair: number,
  turn: (cell: readonly number[]) => Turn,
  position: (token: number) => number,
): number {
  const [own] = placeIn(sheet, cell);
  const rows = [own, ...range(sheet.rows)];
  const row = rows.find((each) => position(each) > 0);
  return row === undefined ? 0 : turn(sheet.cell(cell, row, pair)).angle / position(row);
}

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
    words: range(rows, (down) => word(top + down)),
    pairs: range(columns, (along) => left + along),
    turn: (down, along) => turn(at(down, along)),
    cell: at,
    place: (of) => [placeIn(sheet, of)[0] - top, (placeIn(sheet, of)[1] % half) - left],
  };
}
