/** The pair in hand: its query and key under each other, their products, and the score that these add up to. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { go } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import { useAnswer, usePalette, useStore } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { say } from "../../words/say.ts";
import { barsOf, barsScene } from "../number/bars_scene.ts";
import type { DetailProps } from "./score_table.tsx";

export function Pair({ attention, cell, width }: DetailProps): VNode | null {
  const { names } = useStore();
  const scores = attention.stages[0] ?? "";
  const answer = useAnswer(scores, cell);
  const palette = usePalette();
  const found = answer?.kind === "computed" && answer.name === scores ? answer.found : null;
  const bars = useMemo(() => {
    if (found === null) return null;
    return barsOf(found.sum, names, say`product`, "attention", ({ what }) => what.split(" ")[1] ?? what);
  }, [found, names]);
  const scene = useMemo(() => {
    return bars === null || width === 0 ? null : barsScene(bars, palette, measure, width);
  }, [bars, palette, width]);
  if (found === null || bars === null) return null;
  const [sentence = 0, , query = 0, key = 0] = answer?.cell ?? cell;
  const [looks, at] = [names.label(scores, "query", query, sentence), names.label(scores, "key", key, sentence)];
  return (
    <section class="block">
      <h2>
        {say`The query of ${<b class="query">{looks.text}</b>} times the key of ${<b class="key">{at.text}</b>}: a score of ${(
          <a href={toNumber(scores, answer?.cell ?? cell, names)} class="attention">
            {short(found.value)}
          </a>
        )}`}
      </h2>
      {scene !== null && (
        <Picture
          scene={scene}
          label={say`query of ${looks.text}, key of ${at.text}, their products and the running sum`}
          tensor=""
          cell={[]}
          onChoose={(_, [row = 0, column = 0]) => {
            const factor = bars.rows[row]?.factors[column];
            const [name, index] = factor?.name == null ? [scores, answer?.cell ?? cell] : [factor.name, factor.index];
            go({ level: "number", tensor: name, cell: [...index], layout: [] });
          }}
        />
      )}
    </section>
  );
}
