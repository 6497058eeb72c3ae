/** The boxes of everything that the model computes at the step in hand, and its weights. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { type Box, type Look, measureBox } from "../../draw/box.ts";
import { drawBox } from "../../draw/draw_box.ts";
import type { Item, Panel, Scene } from "../../draw/scene.ts";
import { sheetOf } from "../../draw/sheet.ts";
import type { Names } from "../../formulas/names.ts";
import { sizeOf, type Tensor } from "../../numbers/safetensors.ts";
import { usePalette, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { heard, say } from "../../words/say.ts";
import { blockScene } from "../block/block_scene.ts";
import { front, type Lesson, shown, tick, trail } from "./lesson.ts";

type Fetch = (name: string) => Tensor | undefined;

/** Where a cell stands among the numbers of its tensor. */
export function flatOf(shape: readonly number[], cell: readonly number[]): number {
  return cell.reduce((flat, index, axis) => flat * (shape[axis] ?? 1) + Math.min(index, (shape[axis] ?? 1) - 1), 0);
}

/** The cell at a flat place. */
export function cellOf(shape: readonly number[], flat: number): number[] {
  return shape.map((size, axis) => Math.floor(flat / sizeOf(shape.slice(axis + 1))) % size);
}

/** From so many weights on the first of the blocks is drawn, in small cells. */
export const LARGE = 50_000;

/** Whether a tensor is of a block after the first. */
const further = (name: string): boolean => /\.blocks\.[1-9]/.test(name);

export function Boxes({ now }: { now: Lesson }): VNode {
  const { run } = now.names;
  const large = now.learner.weights.length > LARGE;
  const formulas = large ? run.formulas.filter(({ name }) => !further(name)) : run.formulas;
  const draw = (fetch: Fetch, look: Look, width: number): Scene => blockScene(formulas, now.names, fetch, look, width);
  return <Drawn now={now} draw={draw} label={say`Everything the model computes at this step`} />;
}

export function Weights({ now }: { now: Lesson }): VNode {
  const all = Object.keys(now.names.run.weights);
  const names = now.learner.weights.length > LARGE ? all.filter((name) => !further(name)) : all;
  const draw = (fetch: Fetch, look: Look, width: number): Scene => weightsScene(names, now.names, fetch, look, width);
  return <Drawn now={now} draw={draw} label={say`The weights at this step`} />;
}

function Drawn({
  now,
  draw,
  label,
}: {
  now: Lesson;
  draw: (fetch: Fetch, look: Look, width: number) => Scene;
  label: string;
}): VNode {
  const palette = usePalette();
  const { box, width } = useWidth();
  const sentence = front.value;
  const program = shown(now);
  const scene = useMemo(() => {
    if (width === 0) return null;
    const small = width < 560;
    const large = now.learner.weights.length > LARGE;
    const sides = large ? { side: 5, step: 2 } : { side: small ? 12 : 13, step: small ? 4 : 6 };
    // A tensor of its own for each picture: the scale of a tensor is kept with it.
    const fresh = new Map<string, Tensor>();
    const fetch: Fetch = (name) => {
      const tensor = fresh.get(name) ?? program.fetch(name);
      if (tensor === undefined) return undefined;
      const own = fresh.get(name) ?? { ...tensor };
      fresh.set(name, own);
      return own;
    };
    return draw(fetch, { palette, measure, ...sides, sentence, text: "", word: -1 }, width);
  }, [now, tick.value, width, palette, sentence]);
  const held = trail.value.at(-1);
  const shape = held === undefined ? [] : (program.fetch(held.name)?.shape ?? []);
  const put = (name: string, cell: number[]): void => {
    const tensor = program.fetch(name);
    if (tensor !== undefined) trail.value = [{ name, at: flatOf(tensor.shape, cell) }];
  };
  return (
    <div ref={box}>
      {scene !== null && (
        <Picture
          scene={scene}
          label={say`${label}. Arrow keys move, Page Up and Page Down change the tensor.`}
          tensor={held?.name ?? ""}
          cell={held === undefined ? [] : cellOf(shape, held.at)}
          onPoint={(name, cell, by) => {
            if (by === "key") put(name, cell);
          }}
          onChoose={put}
        />
      )}
    </div>
  );
}

const [BESIDE, BELOW] = [32, 24];

/** Weights as boxes in the order in which they are read, in as many rows as are needed. */
function weightsScene(shown: readonly string[], names: Names, fetch: Fetch, look: Look, width: number): Scene {
  const items: Item[] = [];
  const panels: Panel[] = [];
  let [x, y, tall, widest] = [0, 0, 0, 0];
  for (const name of shown) {
    const sheet = sheetOf(name, names, fetch);
    if (sheet === null) continue;
    const box: Box = measureBox(sheet, titleOf(name), look, true);
    if (x > 0 && x + box.words + box.width > width) [x, y, tall] = [0, y + tall + BELOW, 0];
    drawBox(box, x + box.words, y, look, items, panels);
    x += box.words + box.width + BESIDE;
    tall = Math.max(tall, box.height);
    widest = Math.max(widest, x - BESIDE);
  }
  return { width: Math.max(widest, 1), height: y + tall + 8, items, panels };
}

/** `parameters.encoder.blocks.0.self_attention.query.weight` is the query weight. */
export function titleOf(name: string): string {
  const [, ...steps] = name.split(".");
  const [last = "", part = ""] = [steps.at(-2), steps.at(-3)];
  const short =
    last === "word" ? say`word vectors` : last === "head" ? say`output layer` : heard(last.replaceAll("_", " "));
  return part === "feed_forward" ? say`feed-forward, ${short}` : last === "output" ? say`attention output` : short;
}
