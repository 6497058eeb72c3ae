/** One attention head of one sentence, or several: lines between words, all weights as a square, and how they came about. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { state } from "../../address/state.ts";
import { DASHES, SCALE } from "../../draw/marks.ts";
import { type Attention, attentionOf, blockOf, type Chosen, peersOf } from "../../formulas/attention.ts";
import { range } from "../../numbers/arithmetic.ts";
import { grouped } from "../../numbers/written.ts";
import type { Store } from "../../run/store.ts";
import { isServed } from "../../sources/served.ts";
import { useOpened, usePalette, useRested, useStore, useWidth } from "../../views/hooks.ts";
import { measure } from "../../views/picture.tsx";
import { Working } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { AbsentView } from "../tensor/absent.tsx";
import { Answered } from "./answered.tsx";
import { Around } from "./around.tsx";
import { Controls } from "./controls.tsx";
import { useHeadKeys } from "./keys.ts";
import { optionsIn } from "./options.ts";
import { Pair } from "./pair.tsx";
import { serverOf, shapeOf, useHeadNumbers } from "./parts.ts";
import { type Plan, planOf, type Shown, type ShownHead } from "./plan.ts";
import { type DetailProps, numberAt, ScoreTable } from "./score_table.tsx";
import { strengthOf } from "./square.ts";
import { Stage } from "./stage.tsx";
import { drawnOf } from "./still.ts";
import { Taken } from "./taken.tsx";
import { isRightToLeft, type Spans, type Text, type Unit, unitsShown } from "./units.ts";
import { Weights } from "./weights.ts";

export function HeadView(): VNode {
  const { names } = useStore();
  const { tensor } = state.value;
  const attention = useMemo(() => attentionOf(tensor, names), [tensor, names]);
  if (attention === null) {
    return (
      <>
        <h1 class="big">{names.title(tensor)}</h1>
        <p class="wrong">
          {say`${<b>{tensor}</b>} has no heads to draw: this level shows the weights of an attention. Open one from its block.`}
        </p>
      </>
    );
  }
  return <Heads attention={attention} />;
}

/** The heads that the address names, the one in hand among them. */
export function chosenHeads(
  attention: Attention,
  head: number,
  asked: readonly string[],
  peers: readonly string[],
): Chosen[] {
  const own = `${blockOf(attention.weights)}.${head}`;
  const ids = asked.includes(own) ? asked : [own, ...asked];
  return [...new Set(ids)].slice(0, 8).flatMap((id) => {
    const [block = "", at = ""] = id.split(".");
    const weights = peers.find((name) => blockOf(name) === block);
    return weights === undefined ? [] : [{ id, weights, head: Number(at) }];
  });
}

function Heads({ attention }: { attention: Attention }): VNode {
  const store = useStore();
  const { names } = store;
  const { weights, mayLook, queries, keys } = attention;
  const asked = state.value;
  const peers = useMemo(() => peersOf(weights, names), [weights, names]);
  const facts = [queries, keys].flatMap((side) => [`${side}.real`, `${side}.segments`]);
  const here = serverOf(store) !== null ? [] : mayLook === null ? [weights] : [weights, mayLook];
  const opened = useOpened([...here, ...facts.filter((name) => name in names.run.facts)]);
  const shape = shapeOf(store, weights) ?? [];
  const cell = shape.map((size, axis) => Math.max(0, Math.min(asked.cell[axis] ?? 0, size - 1)));
  const [sentence = 0, head = 0] = cell;
  const heads = chosenHeads(attention, head, asked.heads, peers).filter(({ weights: name, head: at }) => {
    return at < (shapeOf(store, name)?.[1] ?? Number.POSITIVE_INFINITY);
  });
  useHeadKeys(attention, cell, heads, peers, shape[1] ?? 1);
  const { box, width } = useWidth();
  const shown = useShown(store, attention, heads, sentence, head, opened);
  const { across } = optionsIn(asked.show);
  const plan = useMemo(
    () => (shown === null || width === 0 ? null : planOf(shown, width, across)),
    [shown, width, across],
  );
  if (opened && shape.length === 0) return <AbsentView name={weights} />;
  return (
    <>
      {shown !== null && <Answered shown={shown} attention={attention} cell={cell} />}
      {shape.length > 0 && (
        <Controls
          attention={attention}
          cell={cell}
          heads={heads}
          peers={peers}
          count={shape[1] ?? 1}
          shown={shown}
          text={textOf(store, keys, sentence)}
        />
      )}
      <div ref={box} class="scroll-across">
        {shown === null && <Working on={say`The weights of the head are fetched`} />}
        {shown !== null && plan !== null && <Stage shown={shown} plan={plan} cell={cell} />}
      </div>
      {shown !== null && plan !== null && <Note shown={shown} plan={plan} />}
      {opened && (
        <Details
          attention={attention}
          cell={cell}
          width={width}
          digits={plan !== null && plan.square.w >= 34 * (shape[3] ?? 1)}
        />
      )}
    </>
  );
}

/** How the weights came about: it follows once the cell in hand rests, so that arrow keys move the picture at once. */
function Details({ attention, cell, width, digits }: DetailProps & { readonly digits: boolean }): VNode {
  const key = `${attention.weights} ${cell.join()}`;
  const rested = useRested(useMemo(() => ({ attention, cell }), [key]));
  const now = useRested(state.value);
  return useMemo(() => {
    const shown = { attention: rested.attention, cell: rested.cell, width };
    return (
      <div class="details" data-cell={rested.cell.join()}>
        {!digits && <Around {...shown} />}
        <ScoreTable {...shown} />
        <Taken {...shown} />
        <Pair {...shown} />
      </div>
    );
  }, [rested, now, width, digits]);
}

export function textOf(store: Store, side: Text["side"], sentence: number): Text {
  const { source } = store;
  const spans: Spans = isServed(source) ? (source.run.spans[side]?.[sentence] ?? null) : null;
  const count = (source.shape(`${side}.ids`) ?? source.shape(`${side}.vectors`))?.[1] ?? 0;
  return { names: store.names, side, sentence, spans, count, fetch: store.fetch };
}

function useShown(
  store: Store,
  attention: Attention,
  heads: readonly Chosen[],
  sentence: number,
  head: number,
  opened: boolean,
): Shown | null {
  const palette = usePalette();
  const { show } = state.value;
  const numbers = useHeadNumbers(heads, sentence);
  return useMemo(() => {
    if (!opened) return null;
    const options = optionsIn(show);
    const unitsOf = (side: Text["side"], segment: number | null): Unit[] => {
      return unitsShown(textOf(store, side, sentence), options, segment);
    };
    const [queries, keys] = [unitsOf(attention.queries, options.from), unitsOf(attention.keys, options.to)];
    const colours = headColours();
    const several = new Set(heads.map((each) => each.weights)).size > 1;
    const shownHeads = heads.flatMap(({ head: at, id }, order): ShownHead[] => {
      const found = numbers[order];
      if (found == null) return [];
      const rows = new Weights(found, queries, keys);
      const block = several ? say`block ${id.split(".")[0]}` : "";
      return [{ name: say`head ${at}`, block, weights: rows, colour: colours[order] ?? "", dash: DASHES[order] ?? 0 }];
    });
    if (shownHeads.length < heads.length) return null;
    const looks = attention.mayLook === null ? undefined : store.fetch(attention.mayLook);
    return {
      heads: shownHeads,
      own: Math.max(
        heads.findIndex((each) => each.weights === attention.weights && each.head === head),
        0,
      ),
      queries,
      keys,
      tensor: attention.weights,
      sentence,
      head,
      masked: (query, key) => {
        const at = [sentence, head, queries[query]?.tokens[0] ?? 0, keys[key]?.tokens[0] ?? 0];
        return looks !== undefined && numberAt(looks, at) === 0;
      },
      only: options.only,
      rightToLeft: isRightToLeft([...queries, ...keys]),
      palette,
      measure,
    };
  }, [store, attention, numbers, heads.map(({ id }) => id).join(), sentence, head, opened, palette, show.join()]);
}

/** More cells than this have some that may not be looked at, or it is not worth the time to see. */
const MANY = 10_000;

function isStriped({ queries, keys, masked }: Shown): boolean {
  if (queries.length * keys.length > MANY) return true;
  return queries.some((_, query) => keys.some((__, key) => masked(query, key)));
}

/** The eight colours of the heads, from the theme. */
function headColours(): string[] {
  const style = getComputedStyle(document.documentElement);
  return range(8, (place) => style.getPropertyValue(`--head-${place + 1}`).trim());
}

/** What is drawn, what is not, and how words came from tokens. */
function Note({ shown, plan }: { shown: Shown; plan: Plan }): VNode {
  const drawn = useMemo(() => shown.heads.map(({ weights }) => drawnOf(weights, shown)), [shown]);
  const { bare, words } = optionsIn(state.value.show);
  const sum = (of: (each: (typeof drawn)[number]) => number): number => drawn.reduce((all, each) => all + of(each), 0);
  const parted = shown.heads.some(({ weights }) => weights.tokens.picture !== undefined);
  const striped = useMemo(() => isStriped(shown), [shown]);
  return (
    <p class="label">
      {parted && say`The text is too long for the lines of all words: those of the word in hand are drawn. `}
      {!shown.only && !parted && (
        <>
          {say`A line is a word that looks at a word. Faint: the strongest lines of each word, which hold 0.7 of its weight, ${grouped(sum(({ lines }) => lines))} of ${grouped(sum(({ of }) => of))}.`}{" "}
        </>
      )}
      {say`The word in hand has all its lines, and a filled bar for each of its strongest.${striped && say` Striped: may not be looked at.`} 0 is none, 0.00 is little.${words && say` Words of several tokens: summed as keys, averaged as queries.`}${bare && say` Marks are hidden: their weight is counted, see above.`}`}
      <span class="legend">
        {say`colours of the square:`}{" "}
        {SCALE.map((weight) => {
          const strength = strengthOf(weight, shown.keys.length) * (plan.dense ? 1 : 0.88);
          const [background, color] = [
            shown.palette.cell("attention", strength),
            shown.palette.on("attention", strength),
          ];
          return (
            <span class="swatch" style={{ background, color }}>
              {weight}
            </span>
          );
        })}
      </span>
    </p>
  );
}
