/** Attention rollout: of which words each word is made after each block, if attention were all that moves them. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { go, link, state } from "../../address/state.ts";
import { grouped } from "../../measures/groups.ts";
import { counted, short } from "../../numbers/written.ts";
import type { Side } from "../../record/record.ts";
import { type Looks, looksOf } from "../../run/looks.ts";
import { type Rolled, rolledOut, waysOf } from "../../run/rollout.ts";
import { useFound } from "../../views/found.ts";
import { useInPicture, useOpened, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { Choice, Table, Twin, Working } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import { Filters } from "../head/filters.tsx";
import { textOf } from "../head/head_view.tsx";
import { optionsIn } from "../head/options.ts";
import { type Unit, unitsShown } from "../head/units.ts";
import { askedIn, kindsOf, wordIn } from "../ties/ties.ts";
import { type Content, followedIn, rolloutScene } from "./rollout_scene.ts";

/** A stack rolled out for one sentence. */
interface Found {
  readonly side: Side;
  readonly sentence: number;
  readonly rolled: Rolled;
}

const SIDES: readonly Side[] = ["inputs", "decoder_inputs"];

export function RolloutView(): VNode {
  const store = useStore();
  const { names, source } = store;
  useInPicture(false);
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence, options, at, show } = state.value;
  const kinds = useMemo(() => kindsOf(names).filter(({ id }) => id.endsWith("self")), [names]);
  const kind = kinds.find(({ id }) => id === options[0]) ?? kinds[0];
  const opened = useOpened(SIDES.map((side) => `${side}.real`).filter((name) => name in names.run.facts));
  const { value, wrong } = useFound<Found | "missing">(
    kind === undefined ? null : `${kind.id} ${sentence}`,
    async () => {
      const rolled = await rolledOut(source, names, kind?.id.replace("-self", "") ?? "", sentence);
      return rolled === undefined ? "missing" : { side: kind?.queries ?? "inputs", sentence, rolled };
    },
  );
  const found = value === "missing" ? null : value;
  const content = useMemo(() => {
    if (found === null || !opened) return null;
    const { tokens, sources, blocks, memory } = found.rolled;
    const unitsOf = (side: Side, from: number): Unit[] => {
      const shown = unitsShown(textOf(store, side, found.sentence), optionsIn(show), null);
      return shown.map((unit) => ({ ...unit, tokens: unit.tokens.map((token) => token + from) }));
    };
    const units = unitsOf(found.side, 0);
    const keys = memory === undefined ? units : [...units, ...unitsOf("inputs", tokens)];
    const place = (token: number | undefined, other: number): number => {
      const known = keys.findIndex((unit) => unit.tokens.includes(token ?? -1));
      return known < 0 ? other : known;
    };
    const query = Math.min(place(at[1], askedIn(units, units)?.[0] ?? wordIn(units)), units.length - 1);
    const block = Math.min(at[0] ?? blocks.length - 1, blocks.length - 1);
    const [rows, columns] = [units, keys].map((all) => all.map((unit) => unit.tokens));
    const shown: Content = {
      units,
      keys,
      blocks: blocks.map((square) => grouped(square, sources, rows ?? [], columns ?? [])),
      at: [block, query, place(at[2], query)],
    };
    return shown;
  }, [found, opened, at.join(), show.join()]);
  const scene = useMemo(() => {
    return content === null || width === 0 ? null : rolloutScene(content, palette, measure, width);
  }, [content, width, palette]);
  if (kind === undefined) return <p class="wrong">{say`This model has no self-attention that could be rolled out.`}</p>;
  if (wrong !== "") return <p class="wrong">{say`The attention cannot be rolled out: ${wrong}`}</p>;
  const move = ([block = 0, query = 0, key = 0]: readonly number[]): void => {
    const token = (unit: Unit | undefined): number => unit?.tokens[0] ?? 0;
    go({ at: [block, token(content?.units[query]), token(content?.keys[key])] }, true);
  };
  return (
    <>
      <h1 class="away">{say`${names.run.title}: attention through all blocks`}</h1>
      {value === null && <Working on={say`The attention of all blocks is multiplied`} />}
      {value === "missing" && (
        <p class="wrong">
          {say`This page does not carry the attention weights of all blocks: they cannot be rolled out.`}
        </p>
      )}
      {content !== null && <Answer content={content} />}
      <div class="controls">
        {kinds.length > 1 && (
          <Choice
            label={say`stack`}
            value={kind.id}
            of={kinds.map(({ id, title }) => [id, title])}
            onChoose={(id) => go({ options: [id], at: [] }, true)}
          />
        )}
        <Filters text={textOf(store, kind.queries, sentence)} pair={false} />
      </div>
      <div ref={box}>
        {scene !== null && content !== null && (
          <Picture
            scene={scene}
            label={say`Of which words each word is made after each block. Arrow keys: the next word and block. Page Down: the squares of the blocks. Click: another word.`}
            tensor="rollout"
            cell={content.at}
            onPoint={(_, cell, by) => by === "key" && move(cell)}
            onChoose={(_, cell) => move(cell)}
          />
        )}
      </div>
      {scene !== null && (
        <p class="label">
          {say`In each square a row is a word, a column a word of the text; the stronger the colour, the more it is made of it.`}
        </p>
      )}
      {content !== null && found !== null && <Made content={content} found={found} />}
      {content !== null && <Shares content={content} />}
      <AboutRollout />
    </>
  );
}

function AboutRollout(): VNode {
  return (
    <details class="twin about">
      <summary>{say`what this shows`}</summary>
      <p>
        {say`In each block a word keeps half of itself, and the other half is mixed by the mean of its heads’ weights (where a decoder reads an encoder: of both attentions in turn). Block after block these shares are multiplied.`}
      </p>
      <p class="then">
        {say`So rollout shows what attention ${<i>{say`could`}</i>} carry from where to where. It knows nothing of values, output weights, norms and feed-forward layers, which decide what arrives: a large share is no proof that the word was used.`}
      </p>
      <p class="quiet">{say`Abnar and Zuidema 2020, “Quantifying Attention Flow in Transformers”, section 3.`}</p>
    </details>
  );
}

function shareOf({ keys, blocks }: Content, block: number, query: number, key: number): number {
  return blocks[block]?.[query * keys.length + key] ?? 0;
}

/** The shares of the word that is followed, largest first, and what is not shown. */
function Answer({ content }: { content: Content }): VNode {
  const { units, keys, at } = content;
  const [block, query] = at;
  const shares = keys.map((_, key) => shareOf(content, block, query, key));
  const order = [...keys.keys()].sort((one, two) => (shares[two] ?? 0) - (shares[one] ?? 0)).slice(0, 3);
  const hidden = 1 - shares.reduce((sum, share) => sum + share, 0);
  return (
    <p class="answer">
      {say`If each block kept half of each word, ${<b class={units[query]?.hidden === true ? "hidden" : ""}>{say`“${units[query]?.text}”`}</b>} would after block ${block} be made of`}{" "}
      {order.map((key, place) => (
        <>
          {place > 0 && ", "}
          <bdi>{key === query ? say`itself` : say`“${keys[key]?.text}”`}</bdi>{" "}
          <span class="attention">{short(shares[key] ?? 0, 2)}</span>
        </>
      ))}
      {order.length < keys.length && "\u00a0…"}
      {hidden > 0.005 && <span class="quiet">{say`(hidden here: ${short(hidden, 2)})`}</span>}
    </p>
  );
}

/** So many of the words that a share came by are listed. */
const LISTED = 5;

/** How the share in hand came about: by which words of the block before, and from which heads. */
function Made({ content, found }: { content: Content; found: Found }): VNode | null {
  const { names, source } = useStore();
  const { units, keys, at } = content;
  const { rolled, sentence, side } = found;
  const [block] = at;
  const [from, to] = [units[at[1]], keys[at[2]]];
  const [query, key] = [from?.tokens[0] ?? 0, to?.tokens[0] ?? 0];
  const mix = rolled.mixes[block];
  const read = [mix?.weights ?? "", mix?.crossed?.weights ?? ""];
  const asked = `${read.join()} ${sentence} ${query}`;
  const { value } = useFound(asked, async () => {
    return { asked, looks: await Promise.all(read.map((name) => looksOf(source, name, sentence, [query]))) };
  });
  if (from === undefined || to === undefined || mix === undefined) return null;
  if (from.tokens.length + to.tokens.length > 2) {
    return <p class="quiet">{say`Several tokens together: the shares of single tokens say how they came about.`}</p>;
  }
  const ways = waysOf(rolled, [block, query, key]);
  const looks = (crossing: boolean): Looks | undefined =>
    value?.asked === asked ? value.looks[Number(crossing)] : undefined;
  const rest = ways.slice(LISTED).reduce((sum, { taken, held }) => sum + taken * held, 0);
  const share = ways.reduce((sum, { taken, held }) => sum + taken * held, 0);
  const factor = (by: number, crossing: boolean): string => {
    const { crossed } = mix;
    if (crossing) return say`${1 - (crossed?.stays ?? 0)} · mean of `;
    const own = say`${mix.residual ? "½ · " : ""}mean of `;
    const whole = mix.residual && by === query ? `½ + ${own}` : own;
    return crossed === undefined ? whole : `${crossed.stays} · (${whole}`;
  };
  return (
    <section class="block">
      <h2>
        {say`How much of “${to.text}” is in “${from.text}” after block ${block}: ${(
          <b class="attention" data-rollout={`${block},${query},${key}`} data-value={share}>
            {short(share)}
          </b>
        )}, the sum of these products`}
      </h2>
      <Table
        label={say`how the share in hand came about`}
        head={[
          say`by way of`,
          say`share taken in block ${block}`,
          say`“${to.text}” in it before`,
          say`product`,
          mix.residual ? say`½ kept + ½ · mean of the heads’ weights` : say`weights of the heads`,
        ]}
        rows={[
          ...ways.slice(0, LISTED).map(({ by, crossing, taken, held }) => ({
            cells: [
              by === query && !crossing ? say`itself` : names.word(crossing ? "inputs" : side, sentence, by).text,
              short(taken),
              short(held),
              short(taken * held),
              <span class="numbers">
                {factor(by, crossing)}
                {looks(crossing)?.heads.map((row, head) => (
                  <a
                    class="attention"
                    href={toNumber(read[Number(crossing)] ?? "", [sentence, head, query, by], names)}
                  >
                    {short(row[by] ?? 0)}
                  </a>
                ))}
                {mix.crossed !== undefined && !crossing && ")"}
              </span>,
            ],
          })),
          ...(rest > 0 ? [{ cells: [counted(ways.length - LISTED, "more word"), "", "", short(rest), ""] }] : []),
        ]}
      />
    </section>
  );
}

function Shares({ content }: { content: Content }): VNode {
  const { units, keys, blocks, at } = content;
  const own = units[at[1]];
  return (
    <Twin
      label={say`of what “${own?.text}” is made after each block`}
      head={[
        say`made of`,
        ...blocks.map((_, block) => (
          <a href={link({ at: [block, own?.tokens[0] ?? 0] })}>{say`after block ${block}`}</a>
        )),
      ]}
      rows={followedIn(content).map((key) => ({
        cells: [keys[key]?.text, ...blocks.map((_, block) => short(shareOf(content, block, at[1], key)))],
        data: { "data-shares": blocks.map((_, block) => shareOf(content, block, at[1], key)).join() },
      }))}
    />
  );
}
