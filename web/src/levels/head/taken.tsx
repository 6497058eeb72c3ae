/** What the word in hand takes: every value times its weight, and their sum. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go } from "../../address/state.ts";
import type { Attention } from "../../formulas/attention.ts";
import type { Fetch } from "../../formulas/evaluator.ts";
import type { Names } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { more, short } from "../../numbers/written.ts";
import { indexOf } from "../../record/axes.ts";
import { usePalette, useStore } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { say } from "../../words/say.ts";
import { type Mix, mixScene } from "./mix_scene.ts";
import { useRow } from "./parts.ts";
import { type DetailProps, listed, numberAt, weightsOf } from "./score_table.tsx";

export function Taken({ attention, cell, width }: DetailProps): VNode | null {
  const store = useStore();
  const { names } = store;
  const { weights, mayLook, mixed, values } = attention;
  const palette = usePalette();
  const needed = [weights, mayLook, mixed?.name, values?.name].filter((name) => name != null);
  const fetch = useRow(needed, weights, cell);
  const [sentence = 0, head = 0, query = 0] = cell;
  const mix = useMemo(
    () => (fetch === null ? null : mixOf(fetch, names, attention, cell)),
    [fetch, names, attention, sentence, head, query],
  );
  const scene = useMemo(() => {
    return mix === null || width === 0 ? null : mixScene(mix, palette, measure, width);
  }, [mix, palette, width]);
  if (mix === null) return null;
  const hidden = names.label(weights, "query", query, sentence).hidden;
  const own = mix.parts.find(
    (part) => attention.queries === attention.keys && part.masked && part.cell(0)[2] === query,
  );
  const terms = [...mix.parts].filter((part) => part.weight > 0).sort((one, two) => two.weight - one.weight);
  return (
    <section class="block">
      <h2>{say`What ${<b class={hidden ? "hidden" : "query"}>{mix.word}</b>} takes: a weighted sum of values`}</h2>
      <p class="sum-of">
        {mix.word} ={" "}
        {terms.slice(0, 5).map((part, place) => (
          <>
            {place > 0 && " + "}
            <span class="attention">{short(part.weight)}</span> ·{" "}
            <span class={part.label.hidden ? "hidden" : "value"}>{part.label.text}</span>
          </>
        ))}
        {terms.length + mix.left.count > 5 &&
          ` + ${more(terms.length + mix.left.count - 5, terms.length + mix.left.count)}`}
      </p>
      {own !== undefined && own.weight === 0 && (
        <p class="says-absent">
          {say`Its own value is absent: ${hidden ? say`the word is hidden` : say`it may not look at itself`}, so its weight on itself is 0, and it is made of the others alone.`}
        </p>
      )}
      {scene !== null && (
        <Picture
          scene={scene}
          label={say`values times weights for ${mix.word}, and their sum. Arrow keys move, Enter opens the number.`}
          tensor=""
          cell={[]}
          onPoint={(name, index, by) => {
            if (by === "mouse") store.pointed.value = { name, cell: index };
          }}
          onChoose={(name, index) => go({ level: "number", tensor: name, cell: index, layout: [] })}
        />
      )}
    </section>
  );
}

function mixOf(fetch: Fetch, names: Names, attention: Attention, cell: readonly number[]): Mix | null {
  const { weights, mayLook, mixed, values } = attention;
  const [sentence = 0, head = 0, query = 0] = cell;
  const value = values === null ? undefined : fetch(values.name);
  const sum = mixed === null ? undefined : fetch(mixed.name);
  if (values === null || mixed === null || value === undefined || sum === undefined) return null;
  const looks = mayLook === null ? undefined : fetch(mayLook);
  const { rows, count, mass } = listed(weightsOf(fetch, weights, cell), 12);
  const channels = sum.shape.at(-1) ?? 0;
  const steps = range(channels);
  const sumCell = (channel: number): number[] => [Math.min(sentence, (sum.shape[0] ?? 1) - 1), head, query, channel];
  return {
    parts: rows.map(({ key, weight }) => {
      const valueCell = (channel: number): number[] => {
        return indexOf(values, value.shape, { sentence, head, query, key, channel }, names.run.scored_at);
      };
      return {
        label: names.label(weights, "key", key, sentence),
        weight,
        masked: looks !== undefined && numberAt(looks, [sentence, head, query, key]) === 0,
        values: steps.map((channel) => at(value, valueCell(channel))),
        cell: valueCell,
      };
    }),
    left: { count, mass },
    sum: steps.map((channel) => at(sum, sumCell(channel))),
    value: values.name,
    mixed: mixed.name,
    word: names.label(weights, "query", query, sentence).text,
    sumCell,
  };
}
