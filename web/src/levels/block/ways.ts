/**
 * The ways of the flows between boxes: straight on to the next column; else down between two columns, along below the
 * band, and up or down between two columns again. No way leads through a box, and none far back: what comes from a
 * distant place of another band is named at the box that it enters.
 */

import type { Look } from "../../draw/box.ts";
import { type Item, rounded } from "../../draw/scene.ts";
import type { Band, Node, Placed } from "./bands.ts";

/** A flow to the next band goes at most so far aside. */
export const FAR = 240;
const [ROW_GAP, LANE] = [18, 7];

type Point = readonly [number, number];

/** What goes from one box below its band, with all that it enters. */
interface Trunk {
  readonly source: Placed;
  readonly targets: Placed[];
  lane: number;
}

interface Ways {
  /** Below each band so much room for what goes along there. */
  readonly below: readonly number[];
  /** What each box is fed from that is named there, by the name of its tensor. */
  readonly named: ReadonlyMap<string, readonly Node[]>;
  /** Draws the flows, once it is known where each band begins. */
  draw(tops: readonly number[], look: Look, items: Item[]): void;
}

export function waysOf(placed: readonly Placed[], bands: readonly Band[]): Ways {
  const at = new Map(placed.map((each) => [each.node.formula.name, each]));
  const lanes = new Map<string, string[]>();
  const named = new Map<string, Node[]>();
  const straight: [Placed, Placed][] = [];
  const trunks: Trunk[] = [];
  for (const target of placed) {
    for (const name of target.node.from) {
      const source = at.get(name);
      if (source === undefined) continue;
      if (source.band === target.band && source.column + 1 === target.column) straight.push([source, target]);
      else if (source.band === target.band || isNear(source, target, bands)) {
        const trunk = trunks.find((each) => each.source === source);
        if (trunk === undefined) trunks.push({ source, targets: [target], lane: 0 });
        else trunk.targets.push(target);
        reserve(source, source.column + 1);
        reserve(source, target.column, target.band);
      } else named.set(target.node.formula.name, [...(named.get(target.node.formula.name) ?? []), source.node]);
    }
  }

  function reserve({ node, band }: Placed, gap: number, of = band): void {
    const known = lanes.get(`${of} ${gap}`) ?? [];
    if (!known.includes(node.formula.name)) lanes.set(`${of} ${gap}`, [...known, node.formula.name]);
  }

  /** Where a flow goes up or down in a room between columns. */
  function laneIn(source: Placed, gap: number, of = source.band): number {
    const [left = 0, right = 0] = bands[of]?.gaps[gap] ?? [];
    const all = lanes.get(`${of} ${gap}`) ?? [];
    return left + ((right - left) * (all.indexOf(source.node.formula.name) + 1)) / (all.length + 1);
  }

  const spans = bands.map((): [number, number][][] => []);
  for (const trunk of trunks) {
    const { source, targets } = trunk;
    const ends = [laneIn(source, source.column + 1), ...targets.map((each) => laneIn(source, each.column, each.band))];
    const [from, to] = [Math.min(...ends) - 4, Math.max(...ends) + 4];
    const own = spans[source.band] ?? [];
    const free = own.findIndex((taken) => taken.every(([left, right]) => to < left || from > right));
    trunk.lane = free < 0 ? own.push([]) - 1 : free;
    own[trunk.lane]?.push([from, to]);
  }

  function draw(tops: readonly number[], look: Look, items: Item[]): void {
    const stroke = ({ node }: Placed): string => look.palette.cell(node.sheet.role, 0.5);
    const enter = (source: Placed, target: Placed, d: string): void => {
      const [x, y] = enters(target, source, tops);
      for (const each of [d, `M${x - 5} ${y - 4}L${x} ${y}L${x - 5} ${y + 4}`]) {
        items.push({ d: each, stroke: stroke(source), line: 1.5 });
      }
    };
    for (const [source, target] of straight) {
      const [[sx, sy], [tx, ty]] = [leaves(source, tops), enters(target, source, tops)];
      const [left = sx, right = tx] = bands[target.band]?.gaps[target.column] ?? [];
      const [from, to] = [Math.max(sx, left), Math.min(tx, right)];
      const bend = (to - from) / 2;
      enter(source, target, `M${sx} ${sy}H${from}C${from + bend} ${sy} ${to - bend} ${ty} ${to} ${ty}H${tx}`);
    }
    for (const { source, targets, lane } of trunks) {
      const [sx, sy] = leaves(source, tops);
      const out = laneIn(source, source.column + 1);
      const below = (tops[source.band] ?? 0) + (bands[source.band]?.tall ?? 0) + 6 + lane * LANE;
      for (const target of targets) {
        const [tx, ty] = enters(target, source, tops);
        const into = laneIn(source, target.column, target.band);
        const points: Point[] = [
          [sx, sy],
          [out, sy],
          [out, below],
          [into, below],
          [into, ty],
          [tx, ty],
        ];
        enter(source, target, rounded(points, 5));
      }
    }
    for (const [name, sources] of named) {
      for (const { formula } of sources) {
        const [source, target] = [at.get(formula.name), at.get(name)];
        if (source === undefined || target === undefined) continue;
        const [[sx, sy], [tx, ty]] = [leaves(source, tops), enters(target, source, tops)];
        enter(source, target, `M${tx - 12} ${ty}H${tx}`);
        items.push({ d: `M${sx} ${sy}h8`, stroke: stroke(source), line: 1.5 });
      }
    }
  }

  return { below: spans.map((own) => ROW_GAP + own.length * LANE), named, draw };
}

/** Whether a box stands in the next band and not far aside. */
function isNear(source: Placed, target: Placed, bands: readonly Band[]): boolean {
  if (target.band !== source.band + 1) return false;
  const [[from = 0] = [], [to = 0] = []] = [
    bands[source.band]?.gaps[source.column + 1],
    bands[target.band]?.gaps[target.column],
  ];
  return Math.abs(from - to) <= FAR;
}

/** Where a flow leaves a box: at the right, in the middle of its height. */
function leaves({ box, x, y, band }: Placed, tops: readonly number[]): Point {
  const [wide, deep] = [Math.max(...box.faces.map((face) => face.dx)), Math.max(...box.faces.map((face) => face.dy))];
  const down = (tops[band] ?? 0) + y + box.top;
  return [x + wide + box.w + box.depth + 2, down - box.depth / 2 + (deep + box.h) / 2];
}

/** Where it enters one: at the left, before the words; several flows one below the other. */
function enters({ box, x, y, node, band }: Placed, source: Placed, tops: readonly number[]): Point {
  const high = Math.max(...box.faces.map((face) => face.dy)) + box.h;
  const order = node.from.indexOf(source.node.formula.name) - (node.from.length - 1) / 2;
  const down = (tops[band] ?? 0) + y + box.top + high / 2 + order * Math.min(14, high / node.from.length);
  return [x - box.words - (box.words > 0 ? 2 : 5), down];
}
