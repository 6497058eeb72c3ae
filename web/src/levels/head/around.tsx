/** The numbers around the cell in hand, where the square has no room for digits. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go } from "../../address/state.ts";
import { sheetOf } from "../../draw/sheet.ts";
import { usePalette, useStore } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { say } from "../../words/say.ts";
import { gridScene, windowOf } from "../tensor/grid_scene.ts";
import { useRow } from "./parts.ts";
import type { DetailProps } from "./score_table.tsx";

/** Rows above and below the one in hand, and how high these are together. */
const [BESIDE, HEIGHT] = [4, 9 * 28];

export function Around({ attention, cell, width }: DetailProps): VNode | null {
  const store = useStore();
  const palette = usePalette();
  const { weights } = attention;
  const fetch = useRow([weights], weights, cell, BESIDE);
  const key = cell.join();
  const scene = useMemo(() => {
    const sheet = fetch === null ? null : sheetOf(weights, store.names, fetch);
    if (sheet === null || width === 0) return null;
    const seen = windowOf(sheet, cell[2] ?? 0, cell[3] ?? 0, width, HEIGHT);
    return gridScene(sheet, cell, seen, cell[0] ?? 0, palette, measure);
  }, [fetch, store, weights, key, width, palette]);
  if (scene === null) return null;
  return (
    <section class="block">
      <h2>{say`The weights around the cell in hand`}</h2>
      <Picture
        scene={scene}
        label={say`the weights around the cell in hand. Arrow keys move, Enter opens the number.`}
        tensor={weights}
        cell={cell}
        onPoint={(name, at, by) => {
          if (by === "key") go({ cell: at }, true);
          else store.pointed.value = { name, cell: at };
        }}
        onChoose={(_, at, further) => {
          if (further) go({ level: "number", cell: at, layout: [] });
          else go({ cell: at }, true);
        }}
      />
    </section>
  );
}
