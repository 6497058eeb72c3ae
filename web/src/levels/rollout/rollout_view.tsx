/** Attention rollout: of which words each word is made after each block, if attention were all that moves them. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { measure, Picture } from "../../draw/picture.tsx";
import { useFound } from "../../frame/found.ts";
import { useOpened, usePalette, useStore, useWidth } from "../../frame/hooks.ts";
import { go, link, state } from "../../frame/state.ts";
import { toNumber } from "../../frame/views.ts";
import { grouped } from "../../run/groups.ts";
import { looksOf } from "../../run/looks.ts";
import { counted, short } from "../../run/numbers.ts";
import { type Rolled, rolledOut } from "../../run/rollout.ts";
import { Filters } from "../head/filters.tsx";
import { textOf } from "../head/head_view.tsx";
import { optionsIn } from "../head/options.ts";
import { type Unit, unitsShown } from "../head/units.ts";
import { type Kind, kindsOf, wordIn } from "../ties/ties.ts";
import { type Content, followedIn, rolloutScene } from "./rollout_scene.ts";

/** A stack rolled out for one sentence. */
interface Found {
  readonly kind: Kind;
  readonly sentence: number;
  readonly rolled: Rolled | undefined;
}

export function RolloutView(): VNode {
  const store = useStore();
  const { names, source } = store;
  const palette = usePalette();
  const { box, width } = useWidth();
  const { sentence, options, at, show } = state.value;
  const kinds = useMemo(() => kindsOf(names).filter(({ queries, keys }) => queries === keys), [names]);
  const kind = kinds.find(({ id }) => id === options[0]) ?? kinds[0];
  const opened = useOpened(
    ["inputs", "decoder_inputs"].flatMap((side) => [`${side}.real`, `${side}.segments`]).filter(known),
  );
  const { value, wrong } = useFound<Found | null>(kind === undefined ? null : `${kind.id} ${sentence}`, async () => {
    return kind === undefined ? null : { kind, sentence, rolled: await rolledOut(source, kind.weights, sentence) };
  });
  const content = useMemo(() => {
    if (value?.rolled === undefined || !opened) return null;
    const { tokens, blocks } = value.rolled;
    const found = unitsShown(textOf(store, value.kind.queries, value.sentence), optionsIn(show), null);
    const unnamed = Array.from({ length: tokens }, (_, token): Unit => {
      return { tokens: [token], text: `token ${token}`, hidden: false, mark: false };
    });
    const units = found.length > 0 ? found.filter((unit) => unit.tokens.every((token) => token < tokens)) : unnamed;
    const groups = units.map((unit) => unit.tokens);
    const place = (token: number | undefined, other: number): number => {
      const known = units.findIndex((unit) => unit.tokens.includes(token ?? -1));
      return known < 0 ? other : known;
    };
    const query = place(at[1], wordIn(units));
    const block = Math.min(at[0] ?? blocks.length - 1, blocks.length - 1);
    const shown: Content = {
      units,
      blocks: blocks.map((square) => grouped(square, tokens, groups, groups)),
      at: [block, query, place(at[2], query)],
    };
    return shown;
  }, [value, opened, at.join(), show.join()]);
  const scene = useMemo(() => {
    return content === null || width === 0 ? null : rolloutScene(content, palette, measure, width);
  }, [content, width, palette]);
  if (kind === undefined) return <p class="wrong">This model has no self-attention that could be rolled out.</p>;
  if (wrong !== "") return <p class="wrong">The attention cannot be rolled out: {wrong}</p>;
  const move = (cell: readonly number[]): void => {
    const token = (place: number | undefined): number => content?.units[place ?? 0]?.tokens[0] ?? 0;
    go({ at: [cell[0] ?? 0, token(cell[1]), token(cell[2])] }, true);
  };
  return (
    <>
      <h1 class="away">{`${names.run.title}: attention through all blocks`}</h1>
      {value !== null && value.rolled === undefined && (
        <p class="wrong">
          This page does not carry the attention weights of all blocks: what they add up to is not known.
        </p>
      )}
      {content !== null && <Answer content={content} />}
      <div class="controls">
        {kinds.length > 1 && (
          <label>
            stack
            <select value={kind.id} onChange={(event) => go({ options: [event.currentTarget.value], at: [] }, true)}>
              {kinds.map(({ id, title }) => (
                <option value={id} key={id}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        <Filters text={textOf(store, kind.queries, sentence)} />
      </div>
      <div ref={box}>
        {scene !== null && content !== null && (
          <Picture
            scene={scene}
            label="Of which words each word is made after each block. Arrow keys: the next word and block. Page Down: the squares of the blocks. Click: another word."
            tensor="rollout"
            cell={content.at}
            onPoint={(_, cell, by) => by === "key" && move(cell)}
            onChoose={(_, cell) => move(cell)}
          />
        )}
      </div>
      {content !== null && value?.rolled !== undefined && (
        <>
          <Made content={content} kind={value.kind} rolled={value.rolled} sentence={value.sentence} />
          <p class="rule-of-heads">
            Rollout (Abnar and Zuidema 2020): in each block half of a word stays what it was, and the other half is
            mixed by the mean of its heads’ weights; block after block these shares are multiplied. It shows what
            attention could carry where. It knows nothing of values, output weights, norms and feed-forward layers,
            which decide what arrives.
          </p>
          <Twin content={content} />
        </>
      )}
    </>
  );

  function known(name: string): boolean {
    return name in names.run.facts;
  }
}

function shareOf({ units, blocks }: Content, block: number, query: number, key: number): number {
  return blocks[block]?.[query * units.length + key] ?? 0;
}

/** The shares of the word that is followed, largest first, and what is not shown. */
function Answer({ content }: { content: Content }): VNode {
  const { units, at } = content;
  const [block, query] = at;
  const shares = units.map((_, key) => shareOf(content, block, query, key));
  const order = [...units.keys()].sort((one, two) => (shares[two] ?? 0) - (shares[one] ?? 0)).slice(0, 3);
  const hidden = 1 - shares.reduce((sum, share) => sum + share, 0);
  return (
    <p class="answer">
      After block {block}, <b class={units[query]?.hidden === true ? "hidden" : ""}>“{units[query]?.text}”</b> is made
      of{" "}
      {order.map((key, place) => (
        <>
          {place > 0 && ", "}
          <bdi>{key === query ? "itself" : units[key]?.text}</bdi>{" "}
          <span class="attention">{short(shares[key] ?? 0, 2)}</span>
        </>
      ))}
      {hidden > 0.005 && <span class="quiet"> (what is hidden holds {short(hidden, 2)})</span>}.
    </p>
  );
}

interface MadeProps {
  readonly content: Content;
  readonly kind: Kind;
  readonly rolled: Rolled;
  readonly sentence: number;
}

/** So many of the words that a share came by are listed. */
const LISTED = 5;

/** How the share in hand came about: by which words of the block before, and from which heads. */
function Made({ content, kind, rolled, sentence }: MadeProps): VNode | null {
  const { names, source } = useStore();
  const { units, at } = content;
  const [block] = at;
  const [from, to] = [units[at[1]], units[at[2]]];
  const [query, key] = [from?.tokens[0] ?? 0, to?.tokens[0] ?? 0];
  const weights = kind.weights[block] ?? "";
  const { value } = useFound(`${weights} ${sentence} ${query}`, async () => {
    return { weights, query, looks: await looksOf(source, weights, sentence, [query]) };
  });
  if (from === undefined || to === undefined) return null;
  if (from.tokens.length + to.tokens.length > 2) {
    return <p class="quiet">Several tokens together: the share of single tokens says how it came about.</p>;
  }
  const { tokens, blocks, mixes } = rolled;
  const word = (token: number): string => names.word(kind.queries, sentence, token).text;
  const before = (by: number): number => {
    return block === 0 ? Number(by === key) : (blocks[block - 1]?.[by * tokens + key] ?? 0);
  };
  const mixed = (by: number): number => mixes[block]?.[query * tokens + by] ?? 0;
  const all = Array.from({ length: tokens }, (_, by) => by).filter((by) => mixed(by) * before(by) > 0);
  all.sort((one, two) => mixed(two) * before(two) - mixed(one) * before(one));
  const listed = all.slice(0, LISTED);
  const rest = all.slice(LISTED).reduce((sum, by) => sum + mixed(by) * before(by), 0);
  const looks = value !== null && value.weights === weights && value.query === query ? value.looks : undefined;
  return (
    <section class="block">
      <h2>
        How much of “{to.text}” is in “{from.text}” after block {block}:{" "}
        <b class="attention" data-rollout={at.join()} data-value={blocks[block]?.[query * tokens + key]}>
          {short(blocks[block]?.[query * tokens + key] ?? 0)}
        </b>
      </h2>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th>by way of</th>
              <th>share of it in block {block}</th>
              <th>“{to.text}” in it before</th>
              <th>product</th>
              <th>weights of the heads: {names.place(weights)}</th>
            </tr>
          </thead>
          <tbody>
            {listed.map((by) => (
              <tr key={by}>
                <th scope="row">{by === query ? "itself" : word(by)}</th>
                <td>{short(mixed(by))}</td>
                <td>{short(before(by))}</td>
                <td>{short(mixed(by) * before(by))}</td>
                <td class="numbers">
                  {by === query ? "½ + ½ · mean of " : "½ · mean of "}
                  {looks?.heads.map((row, head) => (
                    <a key={head} class="attention" href={toNumber(weights, [sentence, head, query, by], names)}>
                      {short(row[by] ?? 0)}
                    </a>
                  ))}
                </td>
              </tr>
            ))}
            {rest > 0 && (
              <tr>
                <th scope="row">{counted(all.length - LISTED, "more word")}</th>
                <td />
                <td />
                <td>{short(rest)}</td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Twin({ content }: { content: Content }): VNode {
  const { units, blocks, at } = content;
  return (
    <details class="twin">
      <summary>the same as a table</summary>
      <section class="scroll" tabIndex={0} aria-label={`of what “${units[at[1]]?.text}” is made after each block`}>
        <table>
          <thead>
            <tr>
              <th>made of</th>
              {blocks.map((_, block) => (
                <th key={block}>
                  <a href={link({ at: [block, units[at[1]]?.tokens[0] ?? 0, units[at[2]]?.tokens[0] ?? 0] })}>
                    after block {block}
                  </a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {followedIn(content).map((key) => (
              <tr key={key}>
                <th scope="row">{units[key]?.text}</th>
                {blocks.map((_, block) => (
                  <td key={block} data-share={shareOf(content, block, at[1], key)}>
                    {short(shareOf(content, block, at[1], key))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
