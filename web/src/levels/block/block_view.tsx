/** A part of the model: what it was given, the boxes of everything it computed, and what it guessed. */

import { useComputed } from "@preact/signals";
import type { FunctionComponent, VNode } from "preact";
import { useMemo } from "preact/hooks";
import { firstUnit } from "../../address/first.ts";
import { sentenceOf, toTensor } from "../../address/links.ts";
import { go, link, state } from "../../address/state.ts";
import type { Look } from "../../draw/box.ts";
import { usePut } from "../../edit/views/held.ts";
import { Word } from "../../edit/views/word_view.tsx";
import { operandsOf } from "../../formulas/evaluator.ts";
import { type Names, unmarked } from "../../formulas/names.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at, type Tensor } from "../../numbers/safetensors.ts";
import { counted, percent } from "../../numbers/written.ts";
import type { RunRecord } from "../../record/record.ts";
import type { Store } from "../../run/store.ts";
import { DifferenceSource } from "../../sources/difference.ts";
import { Command } from "../../views/command.tsx";
import { useDrawn, useFolded, useNextTask, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { Scroll } from "../../views/pieces.tsx";
import { heard, say } from "../../words/say.ts";
import { blockScene, drawnTogether } from "./block_scene.ts";

/** `Tour` is the button with which a tour begins. */
export function BlockView({ Tour }: { readonly Tour: FunctionComponent<{ text: string }> }): VNode {
  const store = useStore();
  const { names } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const onDrop = usePut();
  const { sentence, tensor, cell } = state.value;
  const unit = unitOf(names);
  const formulas = useMemo(() => drawnTogether(names, unit), [names, unit]);
  const read = formulas.flatMap((formula) => operandsOf(formula.rule).map(([, operand]) => operand.name));
  const needed = [...new Set([...formulas.map((formula) => formula.name), ...read])];
  const opened = useDrawn(needed.filter((name) => !name.startsWith("parameters.")));
  const word = wordOf(store, tensor, cell);
  const scene = useMemo(() => {
    if (!opened || width === 0) return null;
    const small = width < 560;
    const look: Look = { palette, measure, side: small ? 12 : 13, step: small ? 4 : 6, sentence, ...word };
    return blockScene(formulas, names, store.drawn, look, width);
  }, [opened, width, palette, formulas, sentence, word.text, word.word, names, store]);
  // Of a long text not drawn again at each step of the cell in hand.
  const head = useMemo(() => <SentenceHead Tour={Tour} />, [Tour]);
  const label = `${names.unit(unit)}: ${formulas.map((formula) => names.title(formula.name)).join(", ")}`;
  return (
    <>
      <h1 class="away">{`${names.run.title}: ${names.unit(unit)}`}</h1>
      {head}
      <p class="quiet label">
        {say`The stronger a colour, the larger the number. –: negative. A line through a cell: a hidden word, or a look that is forbidden.`}
      </p>
      <div ref={box}>
        {scene !== null && (
          <Picture
            scene={scene}
            label={say`${label}. Arrow keys move, Page Up and Page Down change the tensor, Enter opens the number.`}
            tensor={tensor}
            cell={cell}
            onPoint={(name, at, by) => {
              if (by === "key") pick(store, name, at);
              else store.pointed.value = { name, cell: at };
            }}
            onChoose={(name, at, further) => {
              if (further) go({ level: "number", tensor: name, cell: at, ...sentenceOf(name, at, names) });
              else pick(store, name, at);
            }}
            onDrop={onDrop}
          />
        )}
      </div>
      <LeftOut unit={unit} />
      <Tensors unit={unit} />
    </>
  );
}

/** Says how many tensors of a part, and of the weights that they read, are not in the page. */
function LeftOut({ unit }: { readonly unit: string }): VNode | null {
  const { run } = useStore().names;
  const own = run.formulas.filter((formula) => formula.unit === unit);
  const read = own.flatMap(({ rule }) => operandsOf(rule).map(([, { name }]) => name));
  const gone = (names: readonly string[]): number => {
    return new Set(names.filter((name) => (run.left_out[name] ?? "rows") !== "rows")).size;
  };
  const tensors = gone(own.map(({ name }) => name));
  const weights = [...new Set(read)].filter((name) => name in run.weights);
  if (tensors + gone(weights) === 0) return null;
  return (
    <p class="quiet">
      {say`Not in this page of at most ${counted(Math.round(run.limit / 1e6), "megabyte")}: ${tensors} of the ${own.length} tensors of this part, ${gone(weights)} of the ${weights.length} weight tensors that they read. To include them, write the page again with ${<Command text="--megabytes 64" />}.`}
    </p>
  );
}

/** The part of the address, or else the first. */
function unitOf({ run }: Names): string {
  return state.value.unit || firstUnit(run.formulas.map((formula) => formula.unit));
}

function pick(store: Store, tensor: string, cell: number[]): void {
  go({ tensor, cell, ...sentenceOf(tensor, cell, store.names) }, true);
}

/** The word of the cell in hand, which is framed in every box. */
function wordOf(store: Store, tensor: string, cell: readonly number[]): { text: string; word: number } {
  const { names } = store;
  if (tensor === "") return { text: "", word: -1 };
  const axes = names.axes(tensor);
  const place = axes.indexOf("place");
  if (place >= 0) {
    const token = names.run.places[cell[place] ?? 0]?.[1] ?? -1;
    return { text: names.formulas.get(tensor)?.tokens ?? "inputs", word: token };
  }
  const axis = ["token", "query", "key"].find((each) => axes.includes(each));
  if (axis === undefined) return { text: "", word: -1 };
  return { text: names.side(tensor, axis) ?? "", word: cell[axes.indexOf(axis)] ?? -1 };
}

/** The sentence in large letters, hidden words with the model's guess in them. */
function SentenceHead({ Tour }: { readonly Tour: FunctionComponent<{ text: string }> }): VNode {
  const { names, fetch, source } = useStore();
  const sentence = useComputed(() => state.value.sentence).value;
  const { words } = names.run;
  // A difference of probabilities guesses nothing.
  const probabilities = source instanceof DifferenceSource ? undefined : fetch("head.probabilities");
  const sides = (["inputs", "decoder_inputs"] as const).filter((side) => words[side].length > 0);
  const hidden = words.answers.filter(([row]) => row === sentence).length;
  // The vocabulary is sorted once a sentence, not at each step of the cell in hand.
  const guesses = useMemo(() => guessesOf(names.run, probabilities, sentence), [names, probabilities, sentence]);
  return (
    <>
      {sides.map((side) => {
        const row = words[side][Math.min(sentence, words[side].length - 1)] ?? [];
        return (
          <div class="sentence" dir="auto" data-long={row.length > 9} key={side}>
            {row.map((_, token) => {
              const label = names.word(side, sentence, token);
              const word = <Word side={side} sentence={sentence} token={token} key={`${sentence} ${token}`} />;
              if (!label.hidden) return word;
              return (
                <span class="slot">
                  {word}
                  <span class="guesses">
                    {(guesses.get(token) ?? []).map(([guess, share], order) => (
                      <span style={{ display: "block" }}>
                        {order === 0 ? <b>{guess}</b> : guess} {percent(share)}
                      </span>
                    ))}
                  </span>
                </span>
              );
            })}
            {side === sides[0] && (
              <p class="says" dir="ltr">
                {says(names, hidden)} <Tour text={say`Take the tour, step by step →`} />
                {names.run.model.family === "slides" && (
                  <a href={link({ level: "learn", options: [], at: [] })}>{say`Train it here →`}</a>
                )}
              </p>
            )}
          </div>
        );
      })}
    </>
  );
}

/** The two likeliest words at each hidden place of a sentence. */
function guessesOf(
  run: RunRecord,
  probabilities: Tensor | undefined,
  sentence: number,
): Map<number, [string, number][]> {
  const found = new Map<number, [string, number][]>();
  if (probabilities === undefined) return found;
  const count = probabilities.shape[1] ?? 0;
  run.places.forEach(([row, token], place) => {
    if (row !== sentence || !run.words.answers.some(([one, two]) => one === row && two === token)) return;
    const shares = range(count, (id): [string, number] => {
      return [run.words.vocabulary[id] ?? String(id), at(probabilities, [place, id])];
    });
    const best = shares.sort((one, two) => two[1] - one[1]).slice(0, 2);
    found.set(
      token,
      best.map(([word, share]) => [unmarked(word), share]),
    );
  });
  return found;
}

function says({ run }: Names, hidden: number): string {
  const open = say`Point at a cell to see its number; open it to see how it was computed.`;
  if (hidden === 0) return `${say`Everything ${run.title} computed for this text.`} ${open}`;
  const was =
    hidden === 1 ? say`The red word was hidden from the model.` : say`The red words were hidden from the model.`;
  // Without labels the page does not know what was there.
  const known = run.formulas.some(({ unit }) => unit === "loss");
  const stands = known
    ? say`The text's own word is shown there; below it, what the model guesses.`
    : say`The word shown there is the model's first guess.`;
  return `${was} ${stands} ${open}`;
}

/** The same as a table: every tensor of the picture, with its sizes, as links. */
function Tensors({ unit }: { unit: string }): VNode {
  const store = useNextTask(useStore());
  const { now, onToggle } = useFolded();
  return useMemo(() => tableOf(store, unit, onToggle), [store, unit, now]);
}

function tableOf(store: Store, unit: string, onToggle: ReturnType<typeof useFolded>["onToggle"]): VNode {
  const { names } = store;
  const formulas = drawnTogether(names, unit);
  return (
    <details class="twin" onToggle={onToggle}>
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`all tensors of this picture`}>
        <table>
          <thead>
            <tr>
              <th>{say`tensor`}</th>
              <th>{say`what it is`}</th>
              <th>{say`sizes`}</th>
              <th>{say`formula`}</th>
            </tr>
          </thead>
          <tbody>
            {formulas.map((formula) => {
              const shape = store.shape(formula.name);
              const first = shape?.map(() => 0) ?? [];
              return (
                <tr key={formula.name}>
                  <th>
                    {shape === undefined ? (
                      formula.name
                    ) : (
                      <a href={toTensor(formula.name, first, names)}>{formula.name}</a>
                    )}
                  </th>
                  <td>{heard(formula.title)}</td>
                  <td>{shape?.join(" × ") ?? say`not in this page`}</td>
                  <td>{formula.words}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
