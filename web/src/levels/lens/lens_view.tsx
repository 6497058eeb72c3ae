/** The logit lens: what the vocabulary head would answer from the state before and after each block. */

import type { VNode } from "preact";
import { isLacking, useSection } from "../../frame/found.ts";
import { useStore } from "../../frame/hooks.ts";
import { Lack } from "../../frame/lack.tsx";
import { link, state } from "../../frame/state.ts";
import { toNumber, toTensor } from "../../frame/views.ts";
import { unmarked } from "../../run/names.ts";
import { percent, short } from "../../run/numbers.ts";
import type { Lens, LensLayer, LensPlace } from "../../run/sums.ts";

export function LensView(): VNode {
  const { names } = useStore();
  const told = useSection<Lens>("lens");
  const { sentence } = state.value;
  return (
    <>
      <h1 class="away">{`${names.run.title}: the answer, block by block`}</h1>
      {told !== null && isLacking(told) && <Lack what="No answer block by block" told={told} />}
      {told !== null && !isLacking(told) && <Places all={told} sentence={sentence} />}
    </>
  );
}

function Places({ all, sentence }: { all: Lens; sentence: number }): VNode {
  const own = all.places.filter(({ at }) => at.sentence === sentence);
  const places = own.length > 0 ? own : all.places;
  const [row = places.length - 1, column = -1] = state.value.at;
  const place = places[Math.min(row, places.length - 1)];
  if (place === undefined) return <p class="wrong">No place of this run was scored: there is no answer to follow.</p>;
  const layer = Math.min(column < 0 ? place.layers.length - 1 : column, place.layers.length - 1);
  return (
    <>
      <Answer place={place} />
      <section class="scroll lens" tabIndex={0} aria-label="the first guess of each place after each block">
        <table>
          <thead>
            <tr>
              <th>place</th>
              {place.layers.map(({ state: name }, at) => (
                <th key={name}>{headOf(place, at, name)}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {places.map((each, order) => (
              <tr key={order} data-place={each.at.token}>
                <th scope="row">{asked(each)}</th>
                {each.layers.map((one, at) => (
                  <Cell
                    key={one.state}
                    layer={one}
                    place={each}
                    at={[order, at]}
                    own={each === place && at === layer}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <Guesses place={place} at={layer} />
      <p class="rule-of-heads">
        Each cell: the first guess if the vocabulary head read this state, with its probability as digits and as the
        line below; “rank” is the place of the final answer among all words there, 1 = it is the guess. The last column
        is the run’s own answer (logit lens: nostalgebraist 2020). The states between were never trained to be read by
        the head: an early guess that makes no sense says that the head cannot read it, not that nothing is there.
        {all.left_out !== "" && ` ${all.left_out}`}
      </p>
    </>
  );
}

function headOf({ layers }: LensPlace, at: number, name: string): VNode {
  const block = layers[at]?.block ?? null;
  const text = block === null ? "the vector alone" : at === layers.length - 1 ? "the answer" : `block ${block}`;
  return <TensorLink name={name} text={text} />;
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

/** A decoder’s place answers with what follows it. */
function asked({ at }: LensPlace): VNode {
  const { names } = useStore();
  const word = names.word(at.side, at.sentence, at.token);
  const next = names.run.model.stacks.at(-1)?.side === "decoder";
  return (
    <>
      {next && <span class="quiet">after </span>}
      <b class={word.hidden ? "hidden" : ""}>{word.text}</b>
    </>
  );
}

/** Where the final answer first was the first guess, and stayed it. */
function Answer({ place }: { place: LensPlace }): VNode {
  const { layers, answer } = place;
  const wrong = layers.findLastIndex(({ rank }) => rank > 1);
  const from = layers[wrong + 1];
  const where = from?.block == null ? "before any block" : `after block ${from.block}`;
  return (
    <p class="answer" data-settled={wrong + 1}>
      {asked(place)}: <b class="hidden">{unmarked(answer.text)}</b>{" "}
      {from === undefined ? "is no first guess on the way" : `is the first guess from ${where} on`}.
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
    <td data-own={own} data-rank={layer.rank}>
      <a href={link({ at })} aria-current={own}>
        <b class={right ? "hidden" : ""}>{unmarked(first?.text ?? "")}</b>
        <span>{percent(first?.probability ?? 0)}</span>
        <i style={{ width: `${100 * (first?.probability ?? 0)}%` }} data-right={right} />
        <small>rank {layer.rank.toLocaleString("en")}</small>
      </a>
    </td>
  );
}

/** The guesses of the cell in hand; those of the last column are numbers of the run. */
function Guesses({ place, at }: { place: LensPlace; at: number }): VNode | null {
  const { names, source } = useStore();
  const layer = place.layers[at];
  if (layer === undefined) return null;
  const last = at === place.layers.length - 1 && names.formulas.has("head.probabilities");
  const places = names.run.places.findIndex(([row, token]) => row === place.at.sentence && token === place.at.token);
  const index = names.axes("head.probabilities")[0] === "place" ? [places] : [place.at.sentence, place.at.token];
  const size = source.shape("head.probabilities")?.at(-1);
  const where = layer.block === null ? "before any block" : `after block ${layer.block}`;
  return (
    <section class="block guessed">
      <h2>
        {asked(place)}, {where}: the guesses from <TensorLink name={layer.state} text={names.place(layer.state)} />,
        spread over {short(Math.exp(layer.entropy), 1)} words
      </h2>
      <dl class="bars">
        {layer.top.map(({ id, text, probability }) => (
          <div key={id}>
            <dt class={id === place.answer.id ? "hidden" : ""}>{unmarked(text)}</dt>
            <dd>
              <i style={{ width: `${100 * probability}%`, background: "var(--hidden)" }} />
            </dd>
            <dd data-probability={probability}>
              {last ? (
                <a href={toNumber("head.probabilities", [...index, id], names)}>{percent(probability)}</a>
              ) : (
                percent(probability)
              )}
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        The final answer, {unmarked(place.answer.text)}: rank {layer.rank.toLocaleString("en")}
        {size !== undefined && ` of ${size.toLocaleString("en")}`}, {percent(layer.probability)}.
        {!last && " Made by the head’s own formulas, with this state in the place of the last one."}
      </p>
    </section>
  );
}
