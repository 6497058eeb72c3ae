/** The weights that tie words, each leading to its number, as tables; next to them how alike the vectors are. */

import type { VNode } from "preact";
import { toNumber, toTensor } from "../../address/links.ts";
import { link, state } from "../../address/state.ts";
import { apart } from "../../numbers/apart.ts";
import { short } from "../../numbers/written.ts";
import { useStore } from "../../views/hooks.ts";
import { Table, Twin } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import type { Unit } from "../head/units.ts";
import * as asking from "./ties.ts";

/** What was asked of one text, and all that answers it. */
export interface Answered {
  readonly of: string;
  readonly kind: asking.Kind;
  readonly sentence: number;
  readonly word: Unit;
  readonly targets: readonly Unit[];
  readonly ties: readonly asking.Tie[];
  readonly alike: readonly asking.Alike[];
  readonly missing: number;
  /** At how many tokens the word may look. */
  readonly open: number;
}

export function isJoined({ word, targets }: Answered): boolean {
  return [word, ...targets].some(({ tokens }) => tokens.length > 1);
}

/** A word of several tokens opens as a word. */
export function shownAs(value: Answered): { show?: string[] } {
  return isJoined(value) ? { show: [...new Set([...state.value.show, "words"])] } : {};
}

export function cellOf({ sentence, word }: Answered, tie: asking.Tie, target: Unit | undefined): number[] {
  return [sentence, tie.head, word.tokens[0] ?? 0, target?.tokens[0] ?? 0];
}

/** A weight, which leads to its number; that of several tokens together leads to the head, which shows them. */
export function Weight(props: {
  readonly value: Answered;
  readonly tie: asking.Tie;
  readonly place: number;
  readonly digits?: number;
}): VNode {
  const { value, tie, place, digits = 3 } = props;
  const { names } = useStore();
  const target = value.targets[place];
  const cell = cellOf(value, tie, target);
  const alone = value.word.tokens.length === 1 && target?.tokens.length === 1;
  const href = alone
    ? toNumber(tie.weights, cell, names)
    : link({ level: "head", layout: [], tensor: tie.weights, cell, ...shownAs(value) });
  const share = tie.shares[place] ?? 0;
  return (
    <a class="attention" href={href} data-share={share} title={alone ? "" : say`several tokens together`}>
      {short(share, digits)}
    </a>
  );
}

/**
 * For each of the words the head that leads and the one that looks at it most, and how alike the vectors are: a row for a
 * word, or on a `narrow` page a column.
 */
export function Words(props: {
  readonly value: Answered;
  readonly best: asking.Tie | undefined;
  readonly narrow: boolean;
}): VNode {
  const { value, best, narrow } = props;
  const { names } = useStore();
  const { targets, ties, alike, sentence, word } = value;
  const leads = best !== undefined && best.lead > 0;
  const digits = apart(best?.shares ?? [], 3);
  const streams = alike.filter(({ block }) => block === "" || block === best?.block);
  const head = [
    say`“${word.text}” and`,
    ...(leads ? [say`block ${best.block}, head ${best.head}`] : []),
    say`its strongest head`,
    say`weight there`,
    say`mean of all heads`,
    ...streams.map(({ tensor, block }) => (
      <>
        {say`cosine of ${<a href={toTensor(tensor, [sentence, word.tokens[0] ?? 0, 0], names)}>{vectorsIn(block)}</a>}`}
      </>
    )),
  ];
  const rows = targets.map((target, place) => {
    const tie = asking.largestTie(ties, ({ shares }) => shares[place] ?? 0);
    const mean = ties.reduce((sum, { shares }) => sum + (shares[place] ?? 0) / ties.length, 0);
    return {
      data: { "data-word": target.text },
      cells: [
        <b>{target.text}</b>,
        ...(leads ? [<Weight key={say`lead`} value={value} tie={best} place={place} digits={digits} />] : []),
        tie === undefined ? "" : say`block ${tie.block}, head ${tie.head}`,
        tie === undefined ? "" : <Weight value={value} tie={tie} place={place} digits={digits} />,
        short(mean, digits),
        ...streams.map(({ cosines }) => cosineText(cosines[place] ?? 0)),
      ],
    };
  });
  const [first = [], ...turned] = head.map((name, at) => [name, ...rows.map(({ cells }) => cells[at])]);
  return (
    <Table
      kind={narrow ? "ties turned" : "ties"}
      label={say`weight and likeness of vectors`}
      head={narrow ? first : head}
      rows={narrow ? turned.map((cells) => ({ cells })) : rows}
    />
  );
}

/** A vector of zeros has no direction: that of a hidden word is one where the model sets it to zeros. */
function cosineText(cosine: number): string {
  return Number.isNaN(cosine) ? say`none: a vector is zero` : short(cosine);
}

function vectorsIn(block: string): string {
  return block === "" ? say`word vectors` : say`vectors into block ${block}`;
}

/** Every weight of the picture, and every likeness. */
export function Twins({ value }: { value: Answered }): VNode {
  const { targets, ties, alike } = value;
  const words = targets.map(({ text }) => text);
  return (
    <>
      <Twin
        label={say`the weights of all heads`}
        head={[say`block`, say`head`, ...words, say`lead`]}
        rows={ties.map((tie) => ({
          data: { "data-tie": tie.id },
          cells: [
            tie.block,
            tie.head,
            ...targets.map((_, place) => <Weight value={value} tie={tie} place={place} />),
            short(tie.lead),
          ],
        }))}
      />
      {alike.length > 0 && (
        <Twin
          summary={say`how alike the vectors are, from block to block`}
          label={say`how alike the vectors are`}
          head={[say`cosine`, ...words]}
          rows={alike.map(({ tensor, block, cosines }) => ({
            data: { "data-stream": tensor, "data-cosines": cosines.join() },
            cells: [vectorsIn(block), ...cosines.map(cosineText)],
          }))}
        />
      )}
    </>
  );
}
