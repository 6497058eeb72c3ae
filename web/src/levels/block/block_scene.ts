/** A part of the model as boxes in the order of computation, joined by what flows between them. */

import { type Box, type Look, measureBox } from "../../draw/box.ts";
import { drawBox } from "../../draw/draw_box.ts";
import { type Item, type Panel, rounded, type Scene } from "../../draw/scene.ts";
import { type Sheet, sheetOf } from "../../draw/sheet.ts";
import { operandsOf } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import type { Tensor } from "../../numbers/safetensors.ts";
import type { Formula } from "../../record/record.ts";

interface Node {
  readonly formula: Formula;
  readonly sheet: Sheet;
  readonly from: readonly string[];
  column: number;
}

interface Placed {
  readonly node: Node;
  readonly box: Box;
  readonly x: number;
  readonly y: number;
  readonly row: number;
}

const [GAP, BETWEEN, ROW_GAP, LANE, MARGIN] = [36, 12, 18, 7, 20];

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
  const nodes = ordered(formulas, names, fetch);
  const rows = rowsOf(nodes, look, width);
  const placed = new Map<string, Placed>();
  const items: Item[] = [];
  const panels: Panel[] = [];
  let y = 0;
  rows.forEach((columns, row) => {
    const lanes = lanesOf(columns.flat(), rows.slice(row + 1).flat(2));
    const tall = Math.max(...columns.map((boxes) => heightOf(boxes)));
    let x = 0;
    for (const boxes of columns) {
      const words = Math.max(...boxes.map(({ box }) => box.words));
      x += x === 0 ? words + MARGIN : Math.max(GAP, words + 26);
      let down = y + (tall - heightOf(boxes)) / 2;
      for (const { node, box } of boxes) {
        placed.set(node.formula.name, { node, box, x, y: down, row });
        down += box.height + BETWEEN;
      }
      x += Math.max(...boxes.map(({ box }) => box.width));
    }
    y += tall + ROW_GAP + lanes * LANE;
  });
  const bottoms = rows.map((_, row) => {
    const inside = [...placed.values()].filter((each) => each.row === row);
    return Math.max(...inside.map((each) => each.y + each.box.height));
  });
  drawFlows(placed, bottoms, look, items);
  for (const { box, x, y: top } of placed.values()) drawBox(box, x, top, look, items, panels);
  return { width, height: Math.max(0, ...bottoms) + 8, items, panels };
}

/** Each tensor one column to the right of the last of those it is made of; what is made of none beside its reader. */
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
  const filled = Array.from({ length: latest + 1 }, (_, column) => {
    const others = nodes.filter((other) => other !== node && other.column === column);
    return others.reduce((sum, other) => sum + (other.sheet.layout.columns === "key" ? 2.5 : 1), 0);
  });
  const least = Math.min(...filled);
  return latest <= 0 ? Math.max(latest, 0) : filled.lastIndexOf(least);
}

type Column = { node: Node; box: Box }[];

/** Columns side by side as far as the width goes, then on the next row, like lines of a text. */
function rowsOf(nodes: readonly Node[], look: Look, width: number): Column[][] {
  const columns: Node[][] = [];
  for (const node of nodes) {
    const found = columns[node.column];
    if (found === undefined) columns[node.column] = [node];
    else found.push(node);
  }
  const rows: Column[][] = [];
  let room = 0;
  for (const column of columns.filter((found) => found !== undefined)) {
    const first = (begins: boolean): Column => {
      return column.map((node) => ({ node, box: measureBox(node.sheet, titleOf(node), look, begins) }));
    };
    const last = rows.at(-1);
    const beside = last?.at(-1)?.some(({ box }) => box.sheet.layout.columns === "key") ?? false;
    const inside = first(!beside && column.some((node) => node.sheet.layout.columns === "key"));
    const wide = Math.max(...inside.map(({ box }) => box.width));
    const words = Math.max(...inside.map(({ box }) => box.words));
    const needed = Math.max(GAP, words + 26) + wide;
    if (last !== undefined && room >= needed) {
      last.push(inside);
      room -= needed;
    } else {
      const begins = first(true);
      rows.push([begins]);
      room = width - MARGIN - wide - Math.max(...begins.map(({ box }) => box.words));
    }
  }
  return rows;
}

function titleOf(node: Node): string {
  const { names, name } = node.sheet;
  const title = names.title(name);
  return title.charAt(0).toUpperCase() + title.slice(1);
}

function heightOf(boxes: Column): number {
  return boxes.reduce((sum, { box }) => sum + box.height, (boxes.length - 1) * BETWEEN);
}

/** How many flows leave a row below: those that pass over a column and those that go on further down. */
function lanesOf(here: Column, later: Column): number {
  const count = (source: Node): number => {
    return [...here, ...later].filter(({ node }) => {
      return node.from.includes(source.formula.name) && node.column !== source.column + 1;
    }).length;
  };
  return here.reduce((sum, { node }) => sum + Math.min(count(node), 1), 0) + Number(later.length > 0);
}

function drawFlows(placed: ReadonlyMap<string, Placed>, bottoms: readonly number[], look: Look, items: Item[]): void {
  const used = bottoms.map(() => 0);
  for (const target of placed.values()) {
    for (const name of target.node.from) {
      const source = placed.get(name);
      if (source === undefined) continue;
      const stroke = look.palette.cell(source.node.sheet.role, 0.5);
      const near = source.row === target.row && target.node.column === source.node.column + 1;
      const [sx, sy] = leaves(source);
      const [tx, ty] = enters(target, source);
      if (near) {
        const bend = Math.max(14, (tx - sx) / 2);
        items.push({
          kind: "path",
          d: `M${sx} ${sy}C${sx + bend} ${sy} ${tx - bend} ${ty} ${tx} ${ty}`,
          stroke,
          line: 1.5,
        });
      } else {
        const lane = used[source.row] ?? 0;
        used[source.row] = lane + 1;
        const below = (bottoms[source.row] ?? 0) + 6 + lane * LANE;
        const out = source.x + source.box.width - 2 + (lane % 3) * 3;
        const gap = Math.max(4, tx - 12 - (lane % 3) * 4);
        const points: [number, number][] = [
          [sx, sy],
          [out, sy],
          [out, below],
        ];
        if (target.row > source.row + 1) {
          const between = (bottoms[target.row - 1] ?? 0) + 6 + (used[target.row - 1] ?? 0) * LANE;
          used[target.row - 1] = (used[target.row - 1] ?? 0) + 1;
          points.push([2 + lane * 4, below], [2 + lane * 4, between], [gap, between]);
        } else {
          points.push([gap, below]);
        }
        points.push([gap, ty], [tx, ty]);
        items.push({ kind: "path", d: rounded(points), stroke, line: 1.5 });
      }
      items.push({ kind: "path", d: `M${tx - 5} ${ty - 4}L${tx} ${ty}L${tx - 5} ${ty + 4}`, stroke, line: 1.5 });
    }
  }
}

/** Where a flow leaves a box: at the right, in the middle of its height. */
function leaves({ box, x, y }: Placed): [number, number] {
  const [wide, deep] = [Math.max(...box.faces.map((face) => face.dx)), Math.max(...box.faces.map((face) => face.dy))];
  return [x + wide + box.w + box.depth + 2, y + box.top - box.depth / 2 + (deep + box.h) / 2];
}

/** Where it enters one: at the left, before the words; several flows one below the other. */
function enters(target: Placed, source: Placed): [number, number] {
  const { box, x, y, node } = target;
  const deep = Math.max(...box.faces.map((face) => face.dy));
  const order = node.from.indexOf(source.node.formula.name) - (node.from.length - 1) / 2;
  return [x - box.words - (box.words > 0 ? 2 : 5), y + box.top + (deep + box.h) / 2 + order * 14];
}
