/** The attentions of a run with their heads, opened for one sentence. */

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Names } from "../../formulas/names.ts";
import type { Heads } from "../../measures/heads.ts";
import type { Shown, shownHeads } from "../../run/shown_heads.ts";
import type { Store } from "../../run/store.ts";
import { ATTENTIONS } from "../../sources/addresses.ts";
import { problemOf } from "../../sources/refused.ts";
import type { Source } from "../../sources/source.ts";
import { useAsked, useStore } from "../../views/hooks.ts";
import { heard, say } from "../../words/say.ts";
import type { Row } from "./heads_scene.ts";

/** An attention by name, with where it stands. */
export interface Attention {
  readonly attention: string;
  readonly band: string;
  readonly block: number;
  readonly name: string;
  /** How many tokens look, and how many are looked at. */
  readonly queries: number;
  readonly keys: number;
  readonly heads: number;
}

const BANDS = ATTENTIONS.map((kind) => kind.join(" "));
const SHORT: Readonly<Record<string, string>> = {
  "encoder self": "encoder ",
  "decoder self": "decoder ",
  "decoder cross": say`cross `,
};

/** All attentions, those of one kind together. */
export function attentionsOf(names: Names, source: Source): Attention[] {
  const weights = names.run.formulas.map(({ name }) => name);
  const heads = (name: string): number => {
    return names.run.model.stacks.find(({ side }) => name.startsWith(side))?.heads ?? 1;
  };
  return attentionsAmong(weights, (name) => source.shape(name) ?? [1, heads(name)]);
}

/** The attentions among the tensors of these names, with the shape [sentence, head, query, key] of each one's weights. */
export function attentionsAmong(
  tensors: readonly string[],
  shape: (name: string) => readonly number[] | undefined,
): Attention[] {
  const found = tensors.flatMap((name) => {
    const match = /^(encoder|decoder)\.blocks\.(\d+)\.(self|cross)_attention\.weights$/.exec(name);
    return match === null ? [] : [{ name, kind: `${match[1]} ${match[3]}`, block: Number(match[2]) }];
  });
  const kinds = BANDS.filter((kind) => found.some((each) => each.kind === kind));
  return kinds.flatMap((kind) =>
    found
      .filter((each) => each.kind === kind)
      .map(({ name, block }): Attention => {
        const [side = ""] = kind.split(" ");
        const [, heads = 1, queries = 1, keys = 1] = shape(name) ?? [];
        const band =
          kind === "decoder cross"
            ? say`cross-attention: the decoder's tokens look at the encoder's`
            : say`${heard(side)} self-attention`;
        return {
          attention: name.slice(0, -".weights".length),
          band,
          block,
          name: `${kinds.length > 1 ? SHORT[kind] : ""}${block}`,
          ...{ queries, keys, heads },
        };
      }),
  );
}

/** The rows that are drawn, for what is next to the picture. */
export const drawnRows = signal<readonly Row[]>([]);

const opened = new WeakMap<Source, Map<string, Promise<Heads | undefined>>>();

/** What of a text is shown, and how the address writes it; where it is left out, all of it. */
export interface Part {
  readonly key: string;
  of(attention: string): Shown;
  /** What measures it: the page begins without that, and who asks for a part has it. */
  readonly measured: typeof shownHeads;
}

let turn = Promise.resolve<unknown>(0);

/** One attention after the other: each holds the weights of a head. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const found = turn.then(work, work);
  turn = found;
  return found;
}

function headsIn(
  { source, names }: Store,
  attention: string,
  sentence: number,
  dots: number,
  part: Part | null,
): Promise<Heads | undefined> {
  const known = opened.get(source) ?? new Map<string, Promise<Heads | undefined>>();
  opened.set(source, known);
  const key = `${attention} ${sentence} ${dots} ${part?.key}`;
  let found = known.get(key);
  if (found === undefined) {
    found =
      part === null
        ? source.heads(attention, sentence, dots)
        : inTurn(() => part.measured(source, names, attention, sentence, dots, part.of(attention)));
    known.set(key, found);
    found.catch(() => known.delete(key));
  }
  return found;
}

/** The rows as far as they are there; until all of a new sentence have come, those of the one before. */
export function useRows(
  attentions: readonly Attention[],
  sentence: number,
  dots: number,
  part: Part | null = null,
): { readonly rows: readonly Row[]; readonly missing: readonly string[]; readonly wrong: string } {
  const store = useStore();
  const [found, setFound] = useState<{ rows: Row[]; missing: string[]; wrong: string }>({
    rows: [],
    missing: [],
    wrong: "",
  });
  useAsked(() => {
    let current = dots > 0;
    if (!current) return undefined;
    void Promise.all(
      attentions.map(async (each) => ({ each, heads: await headsIn(store, each.attention, sentence, dots, part) })),
    )
      .then((all) => {
        if (!current) return;
        const rows = all.flatMap(({ each, heads }): Row[] => (heads === undefined ? [] : [{ ...each, heads }]));
        const missing = all.flatMap(({ each, heads }) => (heads === undefined ? [each.attention] : []));
        setFound({ rows, missing, wrong: "" });
        drawnRows.value = rows;
        performance.mark("heads drawn");
      })
      .catch((error: unknown) => {
        const wrong = problemOf(error);
        if (current) setFound({ rows: [], missing: [], wrong });
      });
    return () => {
      current = false;
    };
  }, [store, attentions, sentence, dots, part?.key]);
  return found;
}
