/** What of a text all heads are shown for: words instead of tokens, without marks, one sentence of a pair; and hidden words. */

import { useMemo } from "preact/hooks";
import { state } from "../../address/state.ts";
import type { Names } from "../../formulas/names.ts";
import type { Side } from "../../record/record.ts";
import { type Place, shownHeads } from "../../run/shown_heads.ts";
import { useOpened, useStore } from "../../views/hooks.ts";
import { textOf } from "../head/head_view.tsx";
import { optionsIn } from "../head/options.ts";
import { unitsShown } from "../head/units.ts";
import type { Row } from "./heads_scene.ts";
import type { Part } from "./rows.ts";

/** Filters read the heads one by one: of longer texts, which a live page does not have, that would take minutes. */
export const FILTERED = 2048;

/** What of the texts is shown, as the head level has it; null: all, or more than can be filtered. */
export function usePart(sentence: number): Part | null {
  const store = useStore();
  const { names } = store;
  const options = optionsIn(state.value.show);
  const { words, bare, from, to } = options;
  const facts = ["real", "segments"].flatMap((fact) => [`inputs.${fact}`, `decoder_inputs.${fact}`]);
  const opened = useOpened(facts.filter((name) => name in names.run.facts));
  const key = opened && (words || bare || from !== null || to !== null) ? `${words} ${bare} ${from} ${to}` : null;
  return useMemo(() => {
    if (key === null) return null;
    const places = (side: Side, segment: number | null): Place[] => {
      const text = textOf(store, side, sentence);
      const all = unitsShown(text, { words, bare: false }, null);
      const order = new Map(all.map(({ tokens }, place) => [tokens[0], place]));
      return unitsShown(text, options, segment).map(({ tokens }) => ({ tokens, place: order.get(tokens[0]) ?? 0 }));
    };
    return {
      key,
      of: (attention) => {
        const formula = names.formulas.get(`${attention}.weights`);
        return { queries: places(formula?.tokens ?? "inputs", from), keys: places(formula?.keys ?? "inputs", to) };
      },
      measured: shownHeads,
    };
  }, [store, sentence, key]);
}

/** The rows with their hidden words, where there are any. */
export function withHidden(rows: readonly Row[], part: Part | null, names: Names, sentence: number): readonly Row[] {
  if (names.run.words.answers.length === 0) return rows;
  return rows.map((row) => {
    const formula = names.formulas.get(`${row.attention}.weights`);
    const shown = part?.of(row.attention);
    const marks = (side: Side, places: readonly Place[] | undefined): boolean[] => {
      const tokens = places ?? (names.run.words[side][sentence] ?? []).map((_, token) => ({ tokens: [token] }));
      return tokens.map((each) => names.word(side, sentence, each.tokens[0] ?? 0).hidden);
    };
    const [queries, keys] = [
      marks(formula?.tokens ?? "inputs", shown?.queries),
      marks(formula?.keys ?? "inputs", shown?.keys),
    ];
    return [...queries, ...keys].includes(true) ? { ...row, hidden: { queries, keys } } : row;
  });
}
