/** A text and its words shuffled: how far each word's vector moves, with and without positions, under both masks. */

import type { VNode } from "preact";
import { link, state } from "../address/state.ts";
import { short } from "../numbers/written.ts";
import type { Scout } from "../scout/scout.ts";
import { usePalette } from "../views/hooks.ts";
import { Scroll } from "../views/pieces.tsx";
import { say } from "../words/say.ts";

/** See `look/summaries/shuffled.py`. */
interface Way {
  readonly positions: boolean;
  readonly causal: boolean;
  readonly apart: readonly number[];
  readonly text: readonly (readonly number[])[];
  readonly shuffled: readonly (readonly number[])[];
}

interface Text {
  readonly words: readonly string[];
  readonly order: readonly number[];
  readonly width: number;
  readonly ways: readonly Way[];
}

const nameOf = ({ positions, causal }: Way): string =>
  `${positions ? say`with positions` : say`no positions`}, ${causal ? say`causal mask` : say`no mask`}`;

interface Shuffled {
  readonly texts?: readonly Text[];
}

export function ShuffledView({ s, told }: { readonly s: Scout; readonly told: unknown }): VNode | null {
  const palette = usePalette();
  const text = (told as Shuffled).texts?.[s.sentence];
  if (text === undefined) return null;
  const { words, order, width, ways } = text;
  const [way = 0, word = 0] = state.value.at;
  const hand = ways[way] ?? ways[0];
  const most = Math.max(...ways.flatMap(({ apart }) => apart));
  return (
    <div class="printed">
      <p>
        <span class="quiet">{say`the text`}</span> {words.join(" ")}
      </p>
      <p>
        <span class="quiet">{say`shuffled`}</span> {order.map((place) => words[place]).join(" ")}
      </p>
      <Scroll label={say`how far each word's vector moves`}>
        <table>
          <caption>
            {say`the largest difference of each word’s vector of ${width} numbers, text against shuffled text`}
          </caption>
          <thead>
            <tr>
              <td />
              {ways.map((each) => (
                <th scope="col" key={nameOf(each)}>
                  {nameOf(each)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {words.map((name, row) => (
              <tr key={`${row} ${name}`}>
                <th scope="row">{name}</th>
                {ways.map(({ apart }, column) => {
                  const value = apart[row] ?? 0;
                  const strength = most === 0 ? 0 : value / most / 2;
                  return (
                    <td key={nameOf(ways[column] as Way)} style={{ background: palette.cell("residual", strength) }}>
                      <a
                        href={link({ at: [column, row] })}
                        aria-current={column === way && row === word}
                        data-value={String(value)}
                        style={{ color: palette.on("residual", strength) }}
                      >
                        {short(value)}
                      </a>
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {hand !== undefined && (
        <section class="scroll worked" tabIndex={0} aria-label={say`both vectors of the word in hand`}>
          <table>
            <caption>{say`${words[word]}, ${nameOf(hand)}: the first numbers of its vector`}</caption>
            <tbody>
              {(["text", "shuffled"] as const).map((side) => (
                <tr key={side}>
                  <th scope="row">{side === "text" ? say`in the text` : say`in the shuffled text`}</th>
                  {hand[side][word]?.map((value) => (
                    <td key={value}>{short(value)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <p class="quiet">
        {say`Without positions and without a mask each vector moves with its word and stays what it is (C-1). Under a causal mask it does not, even without positions: a word sees other words before it (C-44).`}
      </p>
    </div>
  );
}
