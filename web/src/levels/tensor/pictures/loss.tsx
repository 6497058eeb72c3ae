/** How much of the loss each place gives: −log of the probability of its right word, divided by how many there are. */

import { lastOf } from "../../../formulas/names.ts";
import { more, percent, short } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";
import { type Bar, barListScene } from "./bar_list_scene.ts";
import { placesOf } from "./choices.tsx";
import { type Context, type Kind, ruleOf } from "./kind.ts";
import { worked } from "./positions/positions.ts";
import { isScored, rightEntry, told } from "./right_words.ts";

/** At most so many places are listed, those that give the most. */
const LISTED = 24;

export const loss: Kind = {
  text: say`as loss`,
  fits: (sheet) => ruleOf(sheet) === "cross_entropy" || (isScored(sheet) && lastOf(sheet.name) !== "logits"),
  reads: (sheet) => [...told(sheet), ruleOf(sheet) === "cross_entropy" ? "head.log_probabilities" : ""],
  draw(context) {
    const { sheet, look, width } = context;
    const own = ruleOf(sheet) === "cross_entropy";
    const parts = own ? partsOfLoss(context) : partsOf(context);
    const sum = parts.reduce((all, part) => all + part.loss, 0);
    const bars = barsOf(parts, sum);
    return {
      scene: barListScene(bars, look, Math.min(width, 720)),
      table: bars,
      above: (
        <p class="says plain" data-loss={String(sum / parts.length)}>
          {parts.length === 0
            ? say`Which words would be right is not known for this text: there is no loss to share out.`
            : say`The mean over ${parts.length} places of −log of the right word's probability: ${<b>{short(sum / parts.length)}</b>}.${!own && say` It is worked out here from these numbers.`} A probability of 1 gives nothing.`}
        </p>
      ),
    };
  },
};

/** A place, its right word, −log of that word's probability, and the number it is read from. */
interface Part {
  readonly label: string;
  readonly word: string;
  readonly loss: number;
  readonly tensor: string;
  readonly cell: readonly number[];
}

function partOf({ names }: Context, tensor: string, cell: readonly number[], found: number): Part {
  const axes = names.axes(tensor);
  const word = names.label(tensor, axes.at(-1) ?? "", cell.at(-1) ?? 0, cell[0] ?? 0).text;
  return { label: names.cell(tensor, cell, axes.slice(0, -1)), word, loss: found, tensor, cell };
}

/** One part for each place whose right word is known. */
function partsOf(context: Context): Part[] {
  const { sheet } = context;
  return placesOf(sheet).flatMap((place) => {
    const right = rightEntry(context, [...place, 0]);
    if (right === null) return [];
    const value = sheet.value([...place, right]);
    const found = lastOf(sheet.name) === "probabilities" ? -Math.log(value) : -value;
    return [partOf(context, sheet.name, [...place, right], found)];
  });
}

/** The terms of the loss itself. */
function partsOfLoss(context: Context): Part[] {
  const formula = context.names.formulas.get(context.sheet.name);
  if (formula === undefined) return [];
  return worked(
    formula,
    context.store,
  )({}).terms.flatMap(({ factors: [factor] }) => {
    return factor?.name == null ? [] : [partOf(context, factor.name, factor.index, -factor.value)];
  });
}

function barsOf(parts: readonly Part[], sum: number): Bar[] {
  const order = [...parts].sort((one, two) => two.loss - one.loss);
  const most = order[0]?.loss || 1;
  const bars = order.slice(0, LISTED).map(({ label, word, loss, tensor, cell }): Bar => {
    const digits = `${short(loss)}, ${percent(sum === 0 ? 0 : loss / sum)}`;
    return { label, digits, share: loss / most, mark: word === label ? "" : say`right: ${word}`, tensor, cell };
  });
  const rest = order.slice(LISTED);
  if (rest.length === 0) return bars;
  const left = rest.reduce((all, part) => all + part.loss, 0);
  const label = more(rest.length, parts.length);
  return [...bars, { label, digits: say`${short(left)} together`, share: 0, mark: "", tensor: "", cell: [] }];
}
