/** Does some head tie a word to one word more than to others? Which, by how much, and how alike their vectors are. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { go, state } from "../../address/state.ts";
import { attentionOf } from "../../formulas/attention.ts";
import { apart } from "../../numbers/apart.ts";
import { counted, evenly } from "../../numbers/written.ts";
import { looksOf } from "../../run/looks.ts";
import { useFound } from "../../views/found.ts";
import { useOpened, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { Choice, type Option } from "../../views/pieces.tsx";
import { Spots } from "../../views/spots.tsx";
import { say } from "../../words/say.ts";
import { textOf } from "../head/head_view.tsx";
import { tokensOf, type Unit, wordsOf } from "../head/units.ts";
import * as asking from "./ties.ts";
import { tiesScene } from "./ties_scene.ts";
import { type Answered, cellOf, isJoined, shownAs, Twins, Weight, Words } from "./ties_tables.tsx";

export function TiesView(): VNode {
  const store = useStore();
  const { names, source } = store;
  const { sentence, options, at } = state.value;
  const kinds = useMemo(() => asking.kindsOf(names), [names]);
  const facts = ["inputs.real", "decoder_inputs.real"].filter((name) => name in names.run.facts);
  const opened = useOpened(facts);
  const units = useMemo(() => {
    const of = (side: asking.Kind["keys"]): Unit[] => {
      const text = textOf(store, side, sentence);
      return wordsOf(text, tokensOf(text));
    };
    return { inputs: of("inputs"), decoder_inputs: of("decoder_inputs") };
  }, [store, sentence, opened]);
  const asked = (kind: asking.Kind): number[] | null => asking.askedIn(units[kind.queries], units[kind.keys]);
  const kind = kinds.find(({ id }) => id === options[0]) ?? kinds.find((each) => asked(each) !== null) ?? kinds[0];
  const key = kind === undefined || !opened ? null : `${kind.id} ${sentence} ${at.join()}`;
  const { value, wrong } = useFound<Answered | null>(key, async () => {
    if (kind === undefined) return null;
    const [queries, keys] = [units[kind.queries], units[kind.keys]];
    const unitAt = (of: readonly Unit[], token: number): number => of.findIndex(({ tokens }) => tokens.includes(token));
    const given =
      at.length > 2 ? [unitAt(queries, at[0] ?? 0), ...at.slice(1).map((token) => unitAt(keys, token))] : [];
    const chosen = given.length > 0 && given.every((each) => each >= 0) ? given : asked(kind);
    const [own, ...others] = chosen ?? [asking.wordIn(queries)];
    const word = queries[own ?? 0];
    if (word === undefined) return null;
    const found = await Promise.all(kind.weights.map((name) => looksOf(source, name, sentence, word.tokens)));
    const looks = found.filter((each) => each !== undefined);
    const within = kind.queries === kind.keys ? (own ?? -1) : -1;
    const places = others.length > 0 ? others : asking.othersIn(looks, keys, within);
    const targets = places.flatMap((place) => keys[place] ?? []);
    const ties = asking.tiesOf(looks, targets);
    // Words of two stacks have no vectors in common.
    const streams = kind.queries === kind.keys ? asking.streamsOf(kind, names) : [];
    const alike = await asking.alikeIn(source, streams, sentence, word, targets);
    const missing = kind.weights.length - looks.length;
    const lead = asking.largestTie(ties, (tie) => tie.lead);
    const mask = lead === undefined ? null : (attentionOf(lead.weights, names)?.mayLook ?? null);
    const allowed = mask === null ? undefined : await looksOf(source, mask, sentence, word.tokens);
    const row = allowed?.heads[Math.min(lead?.head ?? 0, allowed.heads.length - 1)];
    // Without a mask all tokens may be looked at; a weight of 0 may be a small one.
    const open = row?.filter((each) => each > 0).length ?? names.run.words[kind.keys][sentence]?.length ?? 0;
    return { of: key ?? "", kind, sentence, word, targets, ties, alike, missing, open };
  });
  if (kinds.length === 0) return <p class="wrong">{say`This model has no attention: no head ties words.`}</p>;
  if (wrong !== "") return <p class="wrong">{say`The heads cannot be read: ${wrong}`}</p>;
  return (
    <>
      <h1 class="away">{say`${names.run.title}: heads that tie two words`}</h1>
      {value !== null && value.targets.length < 2 && (
        <p class="wrong">{say`Of this text fewer than two words can be looked at: choose another text.`}</p>
      )}
      {value !== null && value.targets.length > 1 && (
        <Asked key={value.kind.id} value={value} units={units} kinds={kinds} />
      )}
    </>
  );
}

interface AskedProps {
  readonly value: Answered;
  readonly units: Readonly<Record<asking.Kind["keys"], readonly Unit[]>>;
  readonly kinds: readonly asking.Kind[];
}

function Asked({ value, units, kinds }: AskedProps): VNode {
  const palette = usePalette();
  const { box, width } = useWidth();
  const { tensor, cell } = state.value;
  const { word, targets, ties } = value;
  const best = asking.largestTie(ties, ({ lead }) => lead);
  const words = targets.map(({ text }) => text);
  const drawn = useMemo(() => {
    return width === 0 ? null : tiesScene(ties, words, best?.id ?? "", palette, width);
  }, [ties, palette, width]);
  const asks = word.tokens[0] === cell[2];
  const inHand = ties.find(({ weights, head }) => asks && weights === tensor && head === cell[1]);
  const open = (id: string): { tensor: string; cell: number[] } => {
    const tie = ties.find((each) => each.id === id);
    return { tensor: tie?.weights ?? "", cell: tie === undefined ? [] : cellOf(value, tie, targets[0]) };
  };
  // The number in hand is one of this question.
  useEffect(() => {
    if (inHand === undefined && best !== undefined) go(open(best.id), true);
  }, [value]);
  return (
    <>
      <Answer value={value} best={best} />
      <Choices value={value} units={units} kinds={kinds} />
      <Words value={value} best={best} narrow={width > 0 && width < NARROW} />
      <p class="legend">
        {words.map((each, place) => (
          <span key={each}>
            <i data-bar={place} />
            {each}
          </span>
        ))}
        <span>
          {say`weights of “${word.text}” in each head${best !== undefined && best.lead > 0 && say`; framed: the largest lead`}${value.open > 1 && say`; an even share is ${evenly(value.open)}`}`}
        </span>
      </p>
      <div ref={box}>
        {drawn !== null && (
          <Spots
            scene={drawn.scene}
            spots={drawn.spots}
            label={say`All heads: how much “${word.text}” looks at ${words.join(", ")}. Arrow keys move, Enter opens a head.`}
            inHand={inHand?.id ?? ""}
            onMove={(id) => go(open(id), true)}
            onOpen={(id) => go({ level: "head", layout: [], ...shownAs(value), ...open(id) })}
          />
        )}
      </div>
      <p class="rule-of-heads">
        {say`A weight says how much of a word’s value a head passes on. It says neither that the model understands what “${word.text}” stands for nor that the words are alike (C-38). “Yes”: a head leads by at least ${asking.LEAD}. “Hardly”: the lead is smaller. “No”: no head looks more at “${targets[0]?.text}”.${isJoined(value) && say` Words of several tokens: summed as keys, averaged as queries.`}${value.missing > 0 && say` This page does not carry the weights of ${counted(value.missing, "attention")}.`}`}
      </p>
      <Twins value={value} />
    </>
  );
}

function Answer({ value, best }: { value: Answered; best: asking.Tie | undefined }): VNode | null {
  const { word, targets, ties } = value;
  if (best === undefined) return null;
  const leading = ties.filter(({ lead }) => lead > 0).length;
  const digits = apart(best.shares, 3);
  const begin = best.lead >= asking.LEAD ? say`Yes` : best.lead > 0 ? say`Hardly` : say`No`;
  const [one, ...others] = targets.map(({ text }, place) => (
    <span key={place} class="strong-word">
      {say`“${<bdi>{text}</bdi>}”`}
    </span>
  ));
  const together = (all: readonly ComponentChildren[]): ComponentChildren =>
    all.map((each, place) => [place > 0 && say` and `, each]);
  const weights = targets.map((_, place) => (
    <Weight key={place} value={value} tie={best} place={place} digits={digits} />
  ));
  return (
    <p
      class="answer"
      data-answer={best.lead >= asking.LEAD ? "Yes" : best.lead > 0 ? "Hardly" : "No"}
      data-leading={leading}
    >
      <span class="quiet">
        {say`Does some head tie “${<bdi>{word.text}</bdi>}” to ${one} more than to ${together(others)}?`}
      </span>{" "}
      {begin}:{" "}
      {leading === 1
        ? say`1 of ${counted(ties.length, "head")} looks more at ${one}`
        : say`${leading} of ${counted(ties.length, "head")} look more at ${one}`}
      {best.lead > 0 &&
        say`; most of all block ${best.block}, head ${best.head}: ${weights[0]} against ${together(weights.slice(1))}`}
      .
    </p>
  );
}

function Choices({ value, units, kinds }: AskedProps): VNode {
  const { kind, word, targets } = value;
  const chosen = [word, ...targets].map(({ tokens }) => tokens[0] ?? 0);
  const select = (place: number, label: string, of: readonly Unit[]): VNode => (
    <Choice
      key={place}
      label={label}
      value={chosen[place] ?? NOBODY}
      of={[
        ...(place > 2 ? [[NOBODY, "–"] as const] : []),
        ...of.map(({ tokens, text }, order): Option => {
          const several = of.filter((other) => other.text === text).length > 1;
          return [tokens[0] ?? 0, several ? `${text} (${order + 1})` : text];
        }),
      ]}
      onChoose={(token) => {
        const next = [...chosen];
        next.splice(place, 1, ...(token === NOBODY ? [] : [Number(token)]));
        go({ at: next, options: [kind.id] }, true);
      }}
    />
  );
  const [queries, keys] = [units[kind.queries], units[kind.keys]];
  return (
    <div class="controls">
      {kinds.length > 1 && (
        <Choice
          label={say`attention`}
          value={kind.id}
          of={kinds.map(({ id, title }) => [id, title])}
          onChoose={(id) => go({ options: [id], at: [] }, true)}
        />
      )}
      {select(0, say`the word`, queries)}
      {select(1, say`tied to`, keys)}
      {select(2, say`more than to`, keys)}
      {select(3, say`and to`, keys)}
    </div>
  );
}

/** A table with a row for a word does not fit into a page of so many pixels. */
const NARROW = 560;

/** No third word. */
const NOBODY = "none";
