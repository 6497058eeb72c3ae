/** The logit lens: what the vocabulary head would answer from the state before and after each block. */

import type { VNode } from "preact";
import { toNumber, toTensor } from "../../address/links.ts";
import { link, state } from "../../address/state.ts";
import { isMark, type Names, unmarked } from "../../formulas/names.ts";
import { grouped, percent, short } from "../../numbers/written.ts";
import type { Lens, LensLayer, LensPlace } from "../../record/sums.ts";
import { isLacking, useSection } from "../../views/found.ts";
import { useStore } from "../../views/hooks.ts";
import { Lack } from "../../views/lack.tsx";
import { Labelled, Table, Working } from "../../views/pieces.tsx";
import { heard, say } from "../../words/say.ts";

export function LensView(): VNode {
  const { names } = useStore();
  const told = useSection<Lens>("lens");
  return (
    <>
      <h1 class="away">{say`${names.run.title}: the answer, block by block`}</h1>
      {told === null && <Working on={say`The head reads the state after each block`} />}
      {told !== null && isLacking(told) && <Lack what={say`No answer block by block`} told={told} />}
      {told !== null && !isLacking(told) && <Places all={told} />}
    </>
  );
}

/** The places of the sentence in front, with the place and layer in hand. */
export function placesIn(
  all: Lens,
  names: Names,
): { places: readonly LensPlace[]; place: LensPlace | undefined; layer: number } {
  const { sentence, at } = state.value;
  const own = all.places.filter((each) => each.at.sentence === sentence);
  const places = own.length > 0 ? own : all.places;
  // The last place of a decoder says what follows; an encoder is asked for a word, not for a mark.
  const { side, sentence: row, token } = places[0]?.at ?? { side: "inputs" as const, sentence, token: 0 };
  const first = isMark(names.run.words[side][row]?.[token] ?? "") && places.length > 1 ? 1 : 0;
  const usual = answersNext(names) ? places.length - 1 : first;
  const place = places[Math.min(at[0] ?? usual, places.length - 1)];
  const last = (place?.layers.length ?? 1) - 1;
  return { places, place, layer: Math.min(at[1] ?? last, last) };
}

function answersNext(names: Names): boolean {
  return names.run.model.stacks.at(-1)?.side === "decoder";
}

function Places({ all }: { all: Lens }): VNode {
  const { names } = useStore();
  const { places, place, layer } = placesIn(all, names);
  if (place === undefined)
    return <p class="wrong">{say`No place of this run was scored: there is no answer to follow.`}</p>;
  return (
    <>
      <Answer place={place} />
      <Table
        kind="lens"
        label={say`the first guess of each place after each block`}
        head={[
          say`place`,
          ...place.layers.map(({ state: name }, at) => <TensorLink name={name} text={headOf(place, at)} />),
        ]}
        rows={places.map((each, order) => ({
          data: { "data-place": each.at.token },
          cells: [
            <Asked place={each} />,
            ...each.layers.map((one, at) => (
              <Cell layer={one} place={each} at={[order, at]} own={each === place && at === layer} />
            )),
          ],
        }))}
      />
      <p class="rule-of-heads">
        {say`Each cell is the first guess if the output layer read this state, and its probability; “rank” is that of the final answer among all tokens. The last column is the answer.${all.left_out !== "" && ` ${heard(all.left_out)}`}`}
      </p>
    </>
  );
}

export function headOf({ layers }: LensPlace, at: number): string {
  const block = layers[at]?.block ?? null;
  return block === null ? say`before any block` : say`after block ${block}`;
}

function TensorLink({ name, text }: { name: string; text: string }): VNode {
  const { names } = useStore();
  return (
    <a
      href={toTensor(
        name,
        names.axes(name).map(() => 0),
        names,
      )}
    >
      {text}
    </a>
  );
}

/** A decoder’s place answers with what follows it; a hidden word is called as everywhere, and by the word before it. */
function Asked({ place: { at } }: { place: LensPlace }): VNode {
  const { names } = useStore();
  const word = names.word(at.side, at.sentence, at.token);
  return (
    <>
      {answersNext(names) && <span class="quiet">{say`after`} </span>}
      <b class={word.hidden ? "hidden" : ""}>{word.text}</b>
      {word.hidden && (
        <span class="quiet">
          {at.token === 0 ? say`, hidden` : say`, hidden after ${names.word(at.side, at.sentence, at.token - 1).text}`}
        </span>
      )}
    </>
  );
}

/** The place in hand, without the answer that the sentence about it ends with. */
function Called({ place }: { place: LensPlace }): VNode {
  const { names } = useStore();
  const { side, sentence, token } = place.at;
  const { text, hidden } = names.word(side, sentence, token);
  if (!hidden) return <>{answersNext(names) ? say`After “${text}”` : say`“${text}”`}</>;
  return (
    <>{token > 0 ? say`The hidden word after “${names.word(side, sentence, token - 1).text}”` : say`The hidden word`}</>
  );
}

/** Where the final answer first was the first guess, and stayed it. */
export function Answer({ place }: { place: LensPlace }): VNode {
  const { layers, answer } = place;
  const wrong = layers.findLastIndex(({ rank }) => rank > 1);
  const from = layers[wrong + 1];
  const before = layers.slice(0, -1);
  const where =
    wrong > 0 && from === layers.at(-1)
      ? before.some(({ rank }) => rank === 1)
        ? say`is the first guess again after the last block`
        : say`is the first guess only after the last block`
      : from?.block == null
        ? say`is the first guess from the start on`
        : say`is the first guess from block ${from.block} on`;
  return (
    <p class="answer" data-settled={wrong + 1}>
      <Called place={place} />: <b class="hidden">{say`“${unmarked(answer.text)}”`}</b>{" "}
      {from === undefined ? say`is no first guess on the way` : where}.
    </p>
  );
}

interface CellProps {
  readonly layer: LensLayer;
  readonly place: LensPlace;
  readonly at: readonly number[];
  readonly own: boolean;
}

function Cell({ layer, place, at, own }: CellProps): VNode {
  const [first] = layer.top;
  const right = first?.id === place.answer.id;
  return (
    <a href={link({ at })} aria-current={own} data-rank={layer.rank} data-probability={first?.probability}>
      <b class={right ? "hidden" : ""}>{unmarked(first?.text ?? "")}</b>
      <i style={{ width: `${100 * (first?.probability ?? 0)}%` }} data-right={right} />
      <small>{percent(first?.probability ?? 0)}</small>
      <small>{say`rank ${grouped(layer.rank)}`}</small>
    </a>
  );
}

/** Beside the table: the guesses of the cell in hand; those of the last column are numbers of the run. */
export function LensBeside(): VNode | null {
  const { names, source } = useStore();
  const told = useSection<Lens>("lens");
  if (told === null || isLacking(told)) return null;
  const { place, layer: at } = placesIn(told, names);
  const layer = place?.layers[at];
  if (place === undefined || layer === undefined) return null;
  const { sentence, token } = place.at;
  const name = "head.probabilities";
  const last = at === place.layers.length - 1 && names.formulas.has(name);
  const row = names.run.places.findIndex((each) => each[0] === sentence && each[1] === token);
  const index = names.axes(name)[0] === "place" ? [row] : [sentence, token];
  const size = source.shape(name)?.at(-1);
  return (
    <>
      <div class="part">
        <p class="strong">
          <Asked place={place} />, {headOf(place, at)}
        </p>
        <dl class="bars">
          {layer.top.map(({ id, text, probability }) => (
            <div key={id}>
              <dt class={id === place.answer.id ? "hidden" : ""}>{unmarked(text)}</dt>
              <dd>
                <i style={{ width: `${100 * probability}%`, background: "var(--hidden)" }} />
              </dd>
              <dd data-guess={probability}>
                {last ? (
                  <a href={toNumber(name, [...index, id], names)}>{percent(probability)}</a>
                ) : (
                  percent(probability)
                )}
              </dd>
            </div>
          ))}
        </dl>
        <p class="quiet">{say`spread over ${short(Math.exp(layer.entropy), 1)} tokens (e to the entropy)`}</p>
        <p>
          {say`The final answer, ${<b class="hidden">{unmarked(place.answer.text)}</b>}, has rank ${grouped(layer.rank)}${size !== undefined && say` of ${grouped(size)}`}: ${percent(layer.probability)}.`}
        </p>
      </div>
      <Labelled label={say`How it was made`}>
        {last ? (
          <p>{say`This is the run’s own answer: each probability is a number with its formula.`}</p>
        ) : (
          <p>
            {say`The formulas of the last norm and of the output layer, with ${<TensorLink name={layer.state} text={say`the state ${headOf(place, at)}`} />} in the place of the last one.`}
          </p>
        )}
        <p class="then">
          {say`The states between were never trained to be read by the output layer: an early guess that makes no sense says that it cannot read the state, not that nothing is there.`}
        </p>
        <p class="quiet">{say`Logit lens: nostalgebraist 2020.`}</p>
      </Labelled>
    </>
  );
}
