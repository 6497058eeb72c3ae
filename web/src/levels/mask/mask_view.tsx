/** A workshop: a person hides words and forbids cells, and sees at once what the softmax makes of it. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { go, link, state } from "../../address/state.ts";
import { range } from "../../numbers/arithmetic.ts";
import { at as numberAt, type Tensor } from "../../numbers/safetensors.ts";
import { short } from "../../numbers/written.ts";
import { useFound } from "../../views/found.ts";
import { useInPicture, useOpened, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { Working } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { type Activity, type Asked, activityMatrix, type Reading } from "./activity.ts";
import { askedOf, hiddenAtFirst, toggled, vectorsOf, WORDS } from "./asked.ts";
import { maskScene, type Words } from "./mask_scene.ts";
import { InHand, Pair, Row } from "./pair_in_hand.tsx";

/** The three readings of the post, each with what is wrong with it. */
const SAID: Readonly<Record<Reading, readonly [name: string, says: string]>> = {
  stated: [
    say`earlier words, none hidden`,
    say`As the text of the post “The multi words mask matrix” says: a word sees itself and those before it, never a hidden word.`,
  ],
  pairs: [
    say`all words, none hidden`,
    say`As the post “The multi words mask matrix” says elsewhere, “all possible pairs”: both directions, hidden words excepted (C-35).`,
  ],
  code: [
    say`itself alone`,
    say`As the code of the post “The multi words mask matrix” does: it forbids all before and all after each word, so each sees itself alone, and the matrix is the identity (C-27).`,
  ],
};

/** What narrows or widens a reading, in words; 0: not at all. */
const MASKS = [
  ["window", say`places away at most (0: any)`],
  ["prefix", say`first words that all see`],
  ["padding", say`last tokens as padding`],
] as const;

export function MaskView(): VNode {
  const store = useStore();
  const { names } = store;
  const { sentence, options } = state.value;
  useInPicture(false);
  const offered = vectorsOf(names);
  const from = offered.find((name) => options.includes(name)) ?? offered[0] ?? "";
  const { opened, features } = useFeatures(from, sentence);
  const asked = useMemo(() => {
    return features === undefined ? null : askedOf(options, names, from, features, sentence);
  }, [features, options, names, from, sentence]);
  if (asked === null) {
    return (
      <>
        <h1 class="big">{say`Who may look at whom?`}</h1>
        {opened ? (
          <p class="wrong">{say`This page carries no vectors of words to compare: the mask workshop needs them.`}</p>
        ) : (
          <Working on={say`The vectors of the words are fetched`} />
        )}
      </>
    );
  }
  return (
    <div class="workshop">
      <Workshop asked={asked} offered={offered} />
    </div>
  );
}

/** The vectors of the words. Of a run that is too large to be sent whole those of the words that are drawn. */
function useFeatures(from: string, sentence: number): { opened: boolean; features: Tensor | undefined } {
  const store = useStore();
  const { large } = store.source;
  const shape = large?.shape(from);
  const opened = useOpened(shape === undefined ? [from, "python.weights"] : []);
  const { value, wrong } = useFound(shape === undefined ? null : `${from} ${sentence}`, async () => {
    const [sentences = 1, tokens = 0, width = 0] = shape ?? [];
    const [row, count] = [Math.min(sentence, sentences - 1), Math.min(tokens, WORDS)];
    const part = await large?.window(from, [row, 0, 0], [row + 1, count, width]);
    const data = new Float64Array((row + 1) * count * width);
    for (let at = 0; part !== undefined && at < count * width; at++) {
      data[row * count * width + at] = part.value([row, Math.floor(at / width), at % width]);
    }
    return { from, sentence, tensor: { shape: [row + 1, count, width], data } };
  });
  if (shape === undefined) return { opened, features: opened ? store.fetch(from) : undefined };
  const here = value?.from === from && value.sentence === sentence;
  return { opened: here || wrong !== "", features: here ? value.tensor : undefined };
}

function Workshop({ asked, offered }: { asked: Asked; offered: readonly string[] }): VNode {
  const store = useStore();
  const { names } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const { at, options } = state.value;
  const found = useMemo(() => activityMatrix(asked), [asked]);
  const [which = 0, row = 0, key = 0] =
    at.length === 3
      ? at.map((index, place) => (place === 0 ? index : Math.min(index, asked.words - 1)))
      : [0, firstRow(asked), 0];
  const laid = Number(options.find((each) => each.startsWith("rows."))?.slice(5) ?? asked.words) || 0;
  const side = names.side(asked.from, "token") ?? "inputs";
  const words: Words = useMemo(() => {
    const text = range(asked.words, (token) => names.word(side, asked.sentence, token).text);
    return { text, hidden: asked.hidden };
  }, [asked, names, side]);
  const scene = useMemo(() => {
    return width === 0
      ? null
      : maskScene(found, words, row, laid, palette, measure, {
          width,
          height: (globalThis.innerHeight || 720) - 432,
        });
  }, [found, words, row, laid, palette, width]);
  const change = (option: string, to: readonly number[] = [which, row, key]): void => {
    go({ options: toggled(options, option), at: to }, true);
  };
  const total = names.run.words[side][asked.sentence]?.length ?? asked.words;
  return (
    <>
      <h1 class="big">{say`Who may look at whom?`}</h1>
      <p class="says plain">
        {say`Click a cell to forbid or allow it. The score of two words is the product of their vectors, without W_Q and W_K; the softmax shares out what is left of each row. ${SAID[asked.reading][1]}`}
      </p>
      <div class="sentences">
        <p class="line">
          <span class="quiet">{say`hide a word`}</span>
          {words.text.map((text, token) => (
            <button
              type="button"
              class={asked.hidden.has(token) ? "masked" : ""}
              aria-pressed={asked.hidden.has(token)}
              onClick={() =>
                change(`${hiddenAtFirst(names, asked.from, asked.sentence, token) ? "show" : "hide"}.${token}`)
              }
            >
              {text}
            </button>
          ))}
        </p>
      </div>
      <Controls asked={asked} offered={offered} laid={laid} />
      {total > asked.words && <p class="label">{say`the first ${asked.words} of ${total} tokens`}</p>}
      <InHand found={found} words={words} row={row} column={key} laid={laid} />
      <div ref={box}>
        {scene !== null && (
          <Picture
            scene={scene}
            label={say`Who may look at whom, and the shares. Arrow keys move, Page Up and Page Down change the square, Enter forbids or allows the cell.`}
            tensor=""
            cell={[which, row, key]}
            onPoint={(_, to, by) => by === "key" && go({ at: to }, true)}
            onChoose={(_, to) => {
              const [square, query, over] = to;
              if (square === 0) change(`flip.${query}-${over}`, to);
              else go({ at: to }, true);
            }}
          />
        )}
      </div>
      <Row found={found} words={words} row={row} asked={asked} />
      <Pair found={found} words={words} row={row} column={key} />
      <Reference found={found} asked={asked} />
    </>
  );
}

/** The first hidden word is the one to look at. */
function firstRow({ hidden, words }: Asked): number {
  return Math.min(...hidden, words - 1);
}

/** Which reading, what a word does that may look at nothing, whose vectors; row by row. */
function Controls({ asked, offered, laid }: { asked: Asked; offered: readonly string[]; laid: number }): VNode {
  const { names } = useStore();
  const { options } = state.value;
  const choose = (values: readonly string[], value: string): void => {
    go({ options: [...options.filter((each) => !values.includes(each)), value] }, true);
  };
  const rows = (count: number): string => {
    return link({
      options: [...options.filter((each) => !each.startsWith("rows.")), `rows.${count}`],
      at: [1, Math.max(count - 1, 0), 0],
    });
  };
  const changed = options.some((each) => /^(flip|hide|show)\./.test(each));
  return (
    <div class="controls">
      <label>
        {say`a word sees`}
        <select value={asked.reading} onChange={(event) => choose(Object.keys(SAID), event.currentTarget.value)}>
          {Object.entries(SAID).map(([reading, [name]]) => (
            <option value={reading}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        {say`a word with none left to see`}
        <select value={asked.nothing} onChange={(event) => choose(["itself", "zero"], event.currentTarget.value)}>
          <option value="itself">{say`sees itself`}</option>
          <option value="zero">{say`is a row of zeros`}</option>
        </select>
      </label>
      {MASKS.map(([name, text]) => (
        <label key={name}>
          {text}
          <input
            type="number"
            min={0}
            max={asked.words}
            value={asked[name]}
            onInput={({ currentTarget: { value } }) => {
              const others = options.filter((each) => !each.startsWith(`${name}.`));
              go({ options: Number(value) > 0 ? [...others, `${name}.${Math.trunc(Number(value))}`] : others }, true);
            }}
          />
        </label>
      ))}
      {offered.length > 1 && (
        <label>
          {say`vectors`}
          <select value={asked.from} onChange={(event) => choose(offered, event.currentTarget.value)}>
            {offered.map((name) => (
              <option value={name}>
                {names.title(name)}, {names.place(name)}
              </option>
            ))}
          </select>
        </label>
      )}
      <span class="stepper">
        <span class="quiet">{say`rows with their shares`}</span>{" "}
        {laid > 0 ? (
          <a href={rows(laid - 1)} aria-label={say`one row less`}>
            −
          </a>
        ) : (
          <span class="quiet">−</span>
        )}{" "}
        {say`${laid} of ${asked.words}`}{" "}
        {laid < asked.words ? (
          <a href={rows(laid + 1)} aria-label={say`lay the next row in`}>
            +
          </a>
        ) : (
          <span class="quiet">+</span>
        )}{" "}
        <span class="quiet">·</span> <a href={rows(0)}>{say`no row`}</a> <span class="quiet">·</span>{" "}
        <a href={rows(asked.words)}>{say`every row`}</a>
      </span>
      {changed && (
        <a href={link({ options: options.filter((each) => !/^(flip|hide|show)\./.test(each)) })}>{say`as it was`}</a>
      )}
    </div>
  );
}

/** What Python has computed, where the page carries it and nothing was changed. */
function Reference({ found, asked }: { found: Activity; asked: Asked }): VNode | null {
  const { names, fetch } = useStore();
  const python = fetch("python.weights");
  const made = names.run.options ?? [];
  const asks = state.value.options.filter((each) => !each.startsWith("rows."));
  const touched = asks.length !== made.length || asks.some((each) => !made.includes(each));
  if (python === undefined || touched || asked.words * asked.words !== python.data.length) return null;
  const apart = found.weights.flatMap((row, query) =>
    row.map((value, key) => Math.abs(value - numberAt(python, [query, key]))),
  );
  const most = Math.max(...apart);
  return (
    <p class="check" data-holds={most <= 1e-6} data-apart={String(most)}>
      {say`${(
        <span class="mark" aria-hidden="true">
          {most <= 1e-6 ? "✓" : "✗"}
        </span>
      )}as gf.activity_matrix, to ${short(most)}`}
    </p>
  );
}
