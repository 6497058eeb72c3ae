/** What a step looked at: the shares of the words, of one head or the mean of a block, and who looked at whom so far. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { go, link, state } from "../../address/state.ts";
import { range } from "../../numbers/arithmetic.ts";
import { short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { Choice } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { alignmentScene } from "./alignment_scene.ts";
import { triangleScene } from "./triangle_scene.ts";
import { type Chosen, crosses, useShares } from "./weights.ts";
import { withOption } from "./written/options.ts";

/** Lines of so many heads can be distinguished by their colours. */
const COLOURS = 8;

/** Which attention the lines show: of the text itself or of the source, of which block, by which heads. */
export function LookChoice({ chosen, side }: { chosen: Chosen; side: "own" | "source" }): VNode {
  const { blocks, block, names, heads, head, each } = chosen;
  const set = (name: string) => (value: string) => go({ options: withOption(name, value) }, true);
  const mean: readonly [string, string] = ["", say`mean of ${heads}`];
  const one = range(heads, (one): [string, string] => [String(one), String(one)]);
  const all: readonly [string, string][] = heads > 1 && heads <= COLOURS ? [["each", say`each in its colour`]] : [];
  return (
    <div class="controls look-choice">
      {names.length > 1 && (
        <Choice
          label={say`it looks`}
          value={side}
          of={[
            ["source", say`at the source`],
            ["own", say`back at what is written`],
          ]}
          onChoose={(value) => set("look")(value === "source" ? "" : value)}
        />
      )}
      <Choice label={say`block`} value={block} of={blocks.map((one) => [one, one])} onChoose={set("block")} />
      <Choice
        label={say`head`}
        value={each ? "each" : (head ?? "")}
        of={[mean, ...one, ...all]}
        onChoose={set("head")}
      />
      {each &&
        one.map(([value]) => (
          <span key={value} class="of-head" style={{ borderColor: `var(--head-${Number(value) + 1})` }}>
            {value}
          </span>
        ))}
    </div>
  );
}

export function Looks({ step, chosen }: { step: number; chosen: Chosen }): VNode {
  const { names, head } = chosen;
  return (
    <section class="block looks">
      <h2>{say`What it looked at`}</h2>
      {names.map((name) => (
        <Look key={name} name={name} step={step} head={head} />
      ))}
    </section>
  );
}

function Look({ name, step, head }: { name: string; step: number; head: number | null }): VNode {
  const { names, source } = useStore();
  const { sentence } = state.value;
  const share = useShares(name, head);
  const keys = source.shape(name)?.[3] ?? 1;
  const keySide = names.formulas.get(name)?.keys ?? "inputs";
  const title = crosses(name) ? say`at the source (cross-attention)` : say`back at what is written (self-attention)`;
  if (share === null) return <p class="quiet">…</p>;
  const real = Math.min(names.run.words[keySide][sentence]?.length ?? keys, keys);
  const shown = crosses(name) ? real : Math.min(real, step + 1);
  const to = { level: "head", tensor: name, cell: [sentence, head ?? 0, step, 0], layout: [] } as const;
  return (
    <>
      <h3>
        {title}: <a href={link(to)}>{head === null ? say`its heads` : say`head ${head}`} →</a>
      </h3>
      <ul class="shares" data-attention={name}>
        {range(shown, (key) => {
          const value = share(step, key);
          const cell = [sentence, head ?? 0, step, key];
          return (
            <li key={key} style={{ "--share": String(value) }}>
              <bdi>{names.word(keySide, sentence, key).text}</bdi>
              {head === null ? (
                <span data-value={value}>{short(value, 2)}</span>
              ) : (
                <a href={toNumber(name, cell, names)} data-value={value}>
                  {short(value, 2)}
                </a>
              )}
            </li>
          );
        })}
      </ul>
    </>
  );
}

/** The triangle of the look-ahead mask, filled row by row as the text is written. */
export function SoFar({ side, step, chosen }: { side: Side; step: number; chosen: Chosen }): VNode | null {
  const { names } = useStore();
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence } = state.value;
  const { head } = chosen;
  const name = chosen.names.find((each) => !crosses(each));
  const share = useShares(name, head);
  const scene = useMemo(() => {
    if (share === null || name === undefined || width === 0) return null;
    const words = (names.run.words[side][sentence] ?? []).map((_, token) => names.word(side, sentence, token).text);
    const cell = (query: number, key: number): number[] => [sentence, head ?? 0, query, key];
    return triangleScene({ tensor: name, words, step, share, cell }, palette, measure, width);
  }, [share, names, step, width, palette, sentence, side]);
  if (name === undefined) return null;
  return (
    <section class="block so-far">
      <h2>{say`Who looked at whom so far`}</h2>
      <div ref={box}>
        {scene !== null && (
          <Picture
            scene={scene}
            label={say`A row for each token that was read, up to step ${step + 1}: the shares of itself and the tokens before it. The tokens after it cannot be seen. Click: the head.`}
            tensor={name}
            cell={[sentence, head ?? 0, step, step]}
            onChoose={(tensor, cell, further) => {
              if (further && head !== null) go({ level: "number", tensor, cell, layout: [] });
              else if (further) go({ level: "head", tensor, cell, layout: [] });
              else go({ at: [cell[2] ?? step, ...state.value.at.slice(1)] }, true);
            }}
          />
        )}
      </div>
      <p class="quiet">
        {say`A row is added with each token; to the right of the stairs is what the mask hides (look-ahead).`}
      </p>
    </section>
  );
}

/** The alignment: a row for each word that was written, with what it looked at in the source. */
export function Aligned({
  words,
  first,
  step,
  chosen,
}: {
  /** What was written, from the word of the first step. */
  words: readonly string[];
  first: number;
  step: number;
  chosen: Chosen;
}): VNode | null {
  const { names } = useStore();
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence } = state.value;
  const { head } = chosen;
  const name = chosen.names.find(crosses);
  const share = useShares(name, head);
  const scene = useMemo(() => {
    if (share === null || name === undefined || width === 0) return null;
    const source = (names.run.words.inputs[sentence] ?? []).map((_, key) => names.word("inputs", sentence, key).text);
    const cell = (query: number, key: number): number[] => [sentence, head ?? 0, query, key];
    return alignmentScene({ tensor: name, source, words, first, step, share, cell }, palette, measure, width);
  }, [share, names, step, width, palette, sentence, words, first]);
  if (name === undefined) return null;
  return (
    <section class="block so-far aligned">
      <h2>{say`The alignment so far`}</h2>
      <div ref={box}>
        {scene !== null && (
          <Picture
            scene={scene}
            label={say`A row for each word that was written, up to step ${step + 1}: how much it looked at each word of the source. Click: the head.`}
            tensor={name}
            cell={[sentence, head ?? 0, step, 0]}
            onChoose={(tensor, cell, further) => {
              if (further) go({ level: head === null ? "head" : "number", tensor, cell, layout: [] });
              else go({ at: [cell[2] ?? step, ...state.value.at.slice(1)] }, true);
            }}
          />
        )}
      </div>
    </section>
  );
}
