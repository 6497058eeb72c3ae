/** What the whole model begins with: what each block adds to the answer; of two stacks, what each word looked at. */

import type { VNode } from "preact";
import { link, state } from "../../address/state.ts";
import { isMark, quoted, unmarked } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at } from "../../numbers/safetensors.ts";
import { percent } from "../../numbers/written.ts";
import type { Lens } from "../../record/sums.ts";
import { isLacking, useSection } from "../../views/found.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import type { Row } from "../heads/heads_scene.ts";
import { Answer, headOf, placesIn } from "./lens_view.tsx";

/** At most so many words are drawn; below this share no line is. */
const [WORDS, LEAST] = [14, 0.06];
const [WIDE, HIGH, TALL] = [64, 96, 132];

export function Insight({ rows }: { readonly rows: readonly Row[] }): VNode | null {
  const { formulas } = useStore().names.run;
  const cross = rows.filter(({ attention }) => attention.endsWith("cross_attention"));
  // A mean of some of them would be another picture.
  const all = formulas.filter(({ name }) => name.endsWith("cross_attention.weights")).length;
  return (
    <section class="insight" aria-label={say`what the run shows`}>
      {all > 0 && cross.length === all ? <Flow cross={cross} /> : <Steps />}
    </section>
  );
}

/** How likely the answer is before any block, and after each: what a block adds stands on what was there. */
function Steps(): VNode | null {
  const { names } = useStore();
  const told = useSection<Lens>("lens", names.formulas.has("head.logits"));
  if (told === null || isLacking(told)) return null;
  const { places, place } = placesIn(told, names);
  if (place === undefined) return null;
  const order = places.indexOf(place);
  return (
    <>
      <Answer place={place} />
      <ol class="steps">
        {place.layers.map((layer, step) => {
          const before = place.layers[step - 1]?.probability ?? 0;
          const [kept, added] = [Math.min(before, layer.probability), layer.probability - before];
          return (
            <li key={layer.state}>
              <a href={link({ level: "lens", at: [order, step] })} data-probability={layer.probability}>
                <span>
                  <i data-lost={added < 0} style={{ height: `${100 * Math.abs(added)}%` }} />
                  <i data-kept style={{ height: `${100 * kept}%` }} />
                </span>
                <b>
                  {unmarked(place.answer.text)} {percent(layer.probability)}
                </b>
                <small>{headOf(place, step)}</small>
                <small
                  class={layer.rank === 1 ? "hidden" : ""}
                >{say`guess: ${quoted(unmarked(layer.top[0]?.text ?? ""))}`}</small>
              </a>
            </li>
          );
        })}
      </ol>
      <p class="rule-of-heads">
        {say`How likely “${unmarked(place.answer.text)}” is if the output layer reads the state there (logit lens); dark: what the block adds.`}
      </p>
    </>
  );
}

/** Each word that was written, and the words of the source that all cross-attention heads looked at, on average. */
function Flow({ cross }: { readonly cross: readonly Row[] }): VNode | null {
  const { names } = useStore();
  const { sentence } = state.value;
  const { inputs, decoder_inputs } = names.run.words;
  const [source, target] = [inputs[sentence] ?? [], decoder_inputs[sentence] ?? []];
  const drawn = cross.flatMap(({ heads }) => (fits(heads.thumbnails.shape) ? [heads.thumbnails] : []));
  if (drawn.length === 0) return null;
  const words = source.slice(0, WORDS);
  // The state of a token decides on the one after it.
  const written = target.slice(1, WORDS + 1);
  const share = (query: number, key: number): number => {
    const each = drawn.flatMap((one) => {
      return range(one.shape[0] ?? 1, (head) => at(one, [head, query, key]));
    });
    return each.reduce((a, b) => a + b) / each.length;
  };
  const lines = written.flatMap((_, query) => words.map((_, key) => ({ query, key, share: share(query, key) })));
  // What a word looked at most, the clearest of them; words before punctuation and marks.
  const most = lines.filter((one) => lines.every(({ query, share }) => query !== one.query || share <= one.share));
  most.sort((a, b) => Number(spoken(b)) - Number(spoken(a)) || b.share - a.share);
  const [best = { query: 0, key: 0 }] = most;
  const x = (place: number): number => place * WIDE + WIDE / 2;
  const text = (word: string, place: number, y: number, meant: boolean): VNode => (
    <text x={x(place)} y={y} text-anchor="middle" data-meant={meant}>
      {unmarked(word)}
    </text>
  );
  const width = WIDE * Math.max(words.length, written.length);
  return (
    <>
      <p class="answer">
        {say`Before it wrote ${<b>{say`“${unmarked(written[best.query] ?? "")}”`}</b>}, it looked most at ${<b>{say`“${unmarked(words[best.key] ?? "")}”`}</b>}.`}
      </p>
      <div class="scroll-across">
        <svg
          class="flow"
          viewBox={`0 0 ${width} ${TALL}`}
          style={{ width: `${width}px` }}
          role="img"
          aria-label={say`what each written word looked at`}
        >
          {lines.map(
            ({ query, key, share: weight }) =>
              weight >= LEAST && (
                <path
                  key={`${query} ${key}`}
                  d={`M${x(key)} 20C${x(key)} 64 ${x(query)} 64 ${x(query)} ${HIGH + 12}`}
                  stroke-width={12 * weight}
                  stroke-opacity={Math.min(1, 0.2 + weight)}
                />
              ),
          )}
          {words.map((word, place) => text(word, place, 14, place === best.key))}
          {written.map((word, place) => text(word, place, TALL - 6, place === best.query))}
        </svg>
      </div>
      <p class="rule-of-heads">
        {say`Above the source, below what was written. A line: the mean weight of all cross-attention heads, from ${LEAST} on, in the state that decides on the word.`}
      </p>
    </>
  );

  function spoken({ query, key }: { readonly query: number; readonly key: number }): boolean {
    return isWord(written[query]) && isWord(words[key]);
  }

  /** Whether each dot of a picture is one weight. */
  function fits(shape: readonly number[]): boolean {
    return (shape[1] ?? 0) >= target.length && (shape[2] ?? 0) >= source.length;
  }
}

const isWord = (token = ""): boolean => /[\p{L}\p{N}]/u.test(token) && !isMark(token);
