/** A part of the model as boxes in the order of computation, joined by what flows between them. */

import type { Look } from "../../draw/box.ts";
import { drawBox } from "../../draw/draw_box.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { sheetOf } from "../../draw/sheet.ts";
import { operandsOf } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Formula } from "../../record/record.ts";
import { bandsOf, type Node, titleOf, withFrom } from "./bands.ts";
import { waysOf } from "./ways.ts";

/** The formulas that are drawn together: a small model whole, a large one part by part. */
export function drawnTogether(names: Names, unit: string): Formula[] {
  const { formulas } = names.run;
  return formulas.length <= 30 ? [...formulas] : formulas.filter((formula) => formula.unit === unit);
}

/** The picture of these formulas in a width; nothing that the page does not carry is drawn. */
export function blockScene(
  formulas: readonly Formula[],
  names: Names,
  fetch: (name: string) => Tensor | undefined,
  look: Look,
  width: number,
): Scene {
  const { placed, bands } = bandsOf(ordered(formulas, names, fetch), look, width);
  const ways = waysOf(placed, bands);
  let bottom = 0;
  const tops = bands.map(({ tall }, band) => {
    const top = bottom;
    bottom += tall + (ways.below[band] ?? 0);
    return top;
  });
  const items: Item[] = [];
  const panels: Panel[] = [];
  ways.draw(tops, look, items);
  for (const { node, box, x, y, band } of placed) {
    const title = withFrom(titleOf(node), ways.named.get(node.formula.name) ?? [], look, box.width);
    drawBox({ ...box, title }, x, (tops[band] ?? 0) + y, look, items, panels);
  }
  return { width, height: bottom, items, panels };
}

/** Each tensor one column to the right of the last of those it is made of; what is made of none next to its reader. */
function ordered(formulas: readonly Formula[], names: Names, fetch: (name: string) => Tensor | undefined): Node[] {
  const nodes = new Map<string, Node>();
  for (const formula of formulas) {
    const sheet = sheetOf(formula.name, names, fetch);
    if (sheet === null) continue;
    const from = operandsOf(formula.rule)
      .map(([, operand]) => operand.name)
      .filter((name) => nodes.has(name));
    const column = Math.max(-1, ...from.map((name) => nodes.get(name)?.column ?? -1)) + 1;
    nodes.set(formula.name, { formula, sheet, from: [...new Set(from)], column });
  }
  const all = [...nodes.values()];
  const latest = (node: Node): number => {
    const readers = all.filter((other) => other.from.includes(node.formula.name));
    return Math.max(0, Math.min(...readers.map((other) => other.column), Number.MAX_SAFE_INTEGER) - 1);
  };
  // What reads the text alone stands where there is room; what reads the same tensor of an earlier part stands together,
  // just before the first that needs it.
  for (const node of all.filter(({ from }) => from.length === 0)) {
    const outside = outsideOf(node, names);
    const together = all.filter((other) => other.from.length === 0 && outsideOf(other, names) === outside);
    if (!all.some((other) => other.from.includes(node.formula.name))) continue;
    node.column = outside === "" ? lowest(all, node, latest(node)) : Math.min(...together.map(latest));
  }
  return [...nodes.values()];
}

/** The tensors of other parts of the model that one is made of. */
function outsideOf({ formula }: Node, names: Names): string {
  return operandsOf(formula.rule)
    .flatMap(([, operand]) => (names.formulas.has(operand.name) ? [operand.name] : []))
    .join(" ");
}

/** The least filled column up to the latest one that a tensor may stand in; one that is used at once stands there. */
function lowest(nodes: readonly Node[], node: Node, latest: number): number {
  const filled = range(latest + 1, (column) => {
    const others = nodes.filter((other) => other !== node && other.column === column);
    return others.reduce((sum, other) => sum + (other.sheet.layout.columns === "key" ? 2.5 : 1), 0);
  });
  const least = Math.min(...filled);
  return latest <= 0 ? Math.max(latest, 0) : filled.lastIndexOf(least);
}
