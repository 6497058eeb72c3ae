/** The loss over the steps: training, held-out, the lines of the baselines, and a spot for each record. */

import type { Measure } from "../../draw/box.ts";
import type { Palette } from "../../draw/colour.ts";
import { Pen } from "../../draw/pen.ts";
import type { Scene } from "../../draw/scene.ts";
import { range } from "../../numbers/arithmetic.ts";
import { grouped, short } from "../../numbers/written.ts";
import { baselinesOf, type Told } from "../../run/training.ts";
import type { Spot } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";

export interface Curve {
  readonly palette: Palette;
  readonly measure: Measure;
  /** Whether the steps lie by their logarithm. */
  readonly log: boolean;
  /** Steps that are kept, by letter. */
  readonly pins: readonly { readonly name: string; readonly step: number }[];
}

const [LEFT, RIGHT, BOTTOM] = [44, 16, 40];

/** The first digits of round numbers. */
const [ONE, TWO, FIVE] = [1, 2, 5];
const ROUND = [ONE, TWO, FIVE];
/** Below this width the legend takes several lines. */
const NARROW = 560;

export function curveScene(
  told: Told,
  { palette, measure, log, pins }: Curve,
  width: number,
  height: number,
): { scene: Scene; spots: Spot[] } {
  const pen = new Pen();
  // A mean lies in the middle of its steps.
  const training = told.curve.points.map(([step, loss], place): [number, number] => {
    return [((told.curve.points[place - 1]?.[0] ?? 0) + 1 + step) / 2, loss];
  });
  const single = told.records.flatMap(({ step, loss }): [number, number][] => (loss === null ? [] : [[step, loss]]));
  const evaluated = told.evaluated.flatMap(({ step, loss }): [number, number][] => {
    return typeof loss === "number" ? [[step, loss]] : [];
  });
  const baselines = baselinesOf(told);
  const losses = [
    ...[...training, ...single, ...evaluated].map(([, loss]) => loss),
    ...baselines.map(({ loss }) => loss),
  ];
  const ticks = ticksBetween(Math.min(...losses), Math.max(...losses), 5);
  const [low, high] = [ticks[0] ?? 0, ticks.at(-1) ?? 1];
  const [x0, x1, y0, y1] = [LEFT, width - RIGHT, height - BOTTOM, width < NARROW ? 64 : 32];
  const last = Math.max(
    1,
    told.curve.points.at(-1)?.[0] ?? 1,
    told.records.at(-1)?.step ?? 1,
    told.running ? (told.steps ?? 1) : 1,
  );
  const along = (step: number): number => {
    const share = log ? Math.log(Math.max(step, 0.5) / 0.5) / Math.log(last / 0.5) : step / last;
    return x0 + share * (x1 - x0);
  };
  const down = (loss: number): number => y0 - ((loss - low) / Math.max(high - low, 1e-9)) * (y0 - y1);
  for (const tick of ticks) {
    pen.items.push({ d: `M${x0} ${down(tick)}H${x1}`, stroke: palette.hair, line: 1 });
    pen.text(x0 - 8, down(tick) + 4, short(tick, 1), palette.quiet, { align: "right" });
  }
  let free = Number.NEGATIVE_INFINITY;
  for (const step of log ? powersTo(last) : ticksBetween(0, last, 6).filter((each) => each <= last)) {
    const x = along(step);
    const text = grouped(step);
    pen.items.push({ d: `M${x} ${y0}v4`, stroke: palette.quiet, line: 1 });
    const half = measure(text, 12) / 2;
    if (x - half < free || x + half > width) continue;
    pen.text(x, y0 + 18, text, palette.quiet, { align: "center" });
    free = x + half + 8;
  }
  pen.text(x1, y0 + 34, log ? say`step, by its logarithm` : say`step`, palette.quiet, { align: "right" });
  const path = (points: readonly (readonly [number, number])[]): string => {
    return `M${points.map(([step, loss]) => `${along(step).toFixed(1)} ${down(loss).toFixed(1)}`).join("L")}`;
  };
  for (const { loss } of baselines) {
    pen.items.push({ d: `M${x0} ${down(loss)}H${x1}`, stroke: palette.quiet, line: 1, dash: 3 });
  }
  for (const [step, loss] of single) pen.rect(along(step) - 1.5, down(loss) - 1.5, 3, 3, palette.quiet);
  if (training.length > 0) pen.items.push({ d: path(training), stroke: palette.fill("query"), line: 1.5 });
  if (evaluated.length > 1) {
    pen.items.push({ d: path(evaluated), stroke: palette.fill("key"), line: 1.5, dash: 6 });
  }
  for (const [step, loss] of evaluated) pen.rect(along(step) - 3, down(loss) - 3, 6, 6, palette.fill("key"));
  legend(told, pen, { palette, measure }, width);
  for (const { name, step } of pins) {
    const x = along(step);
    pen.items.push({ d: `M${x} ${y1}V${y0}`, stroke: palette.ink, line: 1, dash: 2 });
    pen.text(Math.min(x + 4, width - 12), y1 + 12, name, palette.ink, { bold: true });
  }
  const spots = told.records.map(({ step, loss }, place): Spot => {
    const [before, after] = [told.records[place - 1]?.step ?? step, told.records[place + 1]?.step ?? step];
    const [from, to] = [(along(before) + along(step)) / 2, (along(after) + along(step)) / 2];
    const w = Math.max(to - from, 3);
    const label = say`step ${grouped(step)}${loss === null ? say`, before the first step` : say`, loss ${short(loss)}`}`;
    return { id: String(step), x: Math.max(x0 - 3, Math.min(from, x1 - 2)), y: y1, w, h: y0 - y1, label };
  });
  return { scene: { width, height, items: pen.items, panels: [] }, spots };
}

/** What each line is, above the picture: by its colour and by how it is drawn. */
function legend(told: Told, pen: Pen, { palette, measure }: Pick<Curve, "palette" | "measure">, width: number): void {
  const entries: { text: string; stroke: string; dash?: number; dot?: number }[] = [
    { text: say`training loss, mean of up to ${told.curve.lines * 10} steps`, stroke: palette.fill("query") },
  ];
  if (told.records.length > 0) entries.push({ text: say`of one step`, stroke: palette.quiet, dash: -1, dot: 3 });
  if (told.evaluated.length > 0)
    entries.push({ text: say`held-out loss`, stroke: palette.fill("key"), dash: 6, dot: 6 });
  for (const { name, loss } of baselinesOf(told)) {
    entries.push({ text: `${name.replaceAll("_", " ")} ${short(loss, 2)}`, stroke: palette.quiet, dash: 3 });
  }
  let [x, y] = [0, 8];
  for (const { text, stroke, dash = 0, dot = 0 } of entries) {
    const wide = 24 + measure(text, 12);
    if (x > 0 && x + wide > width) [x, y] = [0, y + 16];
    if (dash >= 0) pen.items.push({ d: `M${x} ${y}h18`, stroke, line: 1.5, ...(dash > 0 ? { dash } : {}) });
    if (dot > 0) pen.rect(x + 9 - dot / 2, y - dot / 2, dot, dot, stroke);
    pen.text(x + 24, y + 4, text, palette.quiet);
    x += wide + 16;
  }
}

/** Round numbers from below the lowest to above the highest, about so many. */
export function ticksBetween(lowest: number, highest: number, about: number): number[] {
  if (!Number.isFinite(lowest) || !Number.isFinite(highest)) return [0, 1];
  const rough = Math.max(highest - lowest, 1e-9) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const size = [...ROUND, 10].map((each) => each * power).find((each) => each >= rough) ?? 10 * power;
  const [first, last] = [Math.floor(lowest / size + 1e-9), Math.ceil(highest / size - 1e-9)];
  return range(Math.max(last - first, 1) + 1, (step) => Number(((first + step) * size).toPrecision(12)));
}

/** 0, 1, 10, 100 … and what lies between them. */
function powersTo(last: number): number[] {
  const found = [0];
  for (let power = 1; power <= last; power *= 10) {
    for (const digit of ROUND) if (digit * power <= last) found.push(digit * power);
  }
  return found;
}
