/** The picture of a head: what does not change under the mouse on one canvas, what follows the word in hand above it. */

import type { VNode } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go } from "../../address/state.ts";
import { paint } from "../../draw/canvas.ts";
import type { Scene } from "../../draw/scene.ts";
import { useStore } from "../../views/hooks.ts";
import { Picture, SANS } from "../../views/picture.tsx";
import { say } from "../../words/say.ts";
import { type Aim, handScene, LOOKED_AT } from "./hand.ts";
import type { Plan, Shown } from "./plan.ts";
import { stillScene } from "./still.ts";

export function Stage({ shown, plan, cell }: { shown: Shown; plan: Plan; cell: readonly number[] }): VNode {
  const store = useStore();
  const [backwards, setBackwards] = useState(false);
  const still = useMemo(() => stillScene(shown, plan), [shown, plan]);
  const pointed = store.pointed.value;
  const own = pointed !== null && pointed.name === shown.tensor ? pointed.cell : cell;
  const side = backwards ? "keys" : "queries";
  const [query, key] = [rowOf(shown.queries, own[2]), rowOf(shown.keys, own[3])];
  // Along the lines of a word, only the word matters.
  const [row, column] = side === "queries" ? [query, 0] : [rowOf(shown.queries, cell[2]), key];
  const scene = useMemo(() => {
    const aim: Aim = { side, query: row, key: column };
    return handScene(shown, plan, aim);
  }, [shown, plan, side, row, column]);
  const pick = (at: readonly number[]): void => go({ cell: [...at], sentence: at[0] ?? 0 }, true);
  const { names } = store;
  return (
    <div class="stage">
      <Still scene={still} />
      <Picture
        scene={scene}
        label={say`Attention of ${shown.heads[shown.own]?.name ?? ""}, from ${names.label(shown.tensor, "query", own[2] ?? 0, shown.sentence).text} to ${names.label(shown.tensor, "key", own[3] ?? 0, shown.sentence).text}. Arrow keys move, Enter opens the number, [ and ] change the head.`}
        tensor={shown.tensor}
        cell={cell}
        onPoint={(_, at, by, panel) => {
          setBackwards(by === "mouse" && panel.tensor === LOOKED_AT);
          if (by === "key") pick(at);
          else store.pointed.value = { name: shown.tensor, cell: at };
        }}
        onChoose={(_, at, further) => {
          if (further) go({ level: "number", cell: at, layout: [], sentence: at[0] ?? 0 });
          else pick(at);
        }}
      />
    </div>
  );
}

/** The row of the unit that a token is part of; the first one, where it has no row. */
export function rowOf(units: Shown["queries"], token = 0): number {
  return Math.max(
    units.findIndex((unit) => unit.tokens.includes(token)),
    0,
  );
}

function Still({ scene }: { scene: Scene }): VNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (context != null) paint(context, scene, SANS);
  }, [scene]);
  return (
    <div aria-hidden="true">
      <canvas ref={canvas} />
    </div>
  );
}
