/** What could have come next: the likeliest tokens before and after temperature and cuts, each to go on with. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { toNumber } from "../../address/links.ts";
import { counted, percent, short } from "../../numbers/written.ts";
import type { Source } from "../../sources/source.ts";
import { useStore } from "../../views/hooks.ts";
import { say } from "../../words/say.ts";
import type { Node, Search } from "./written/search.ts";

/** So many candidates are named. */
const LISTED = 8;

const FATES: Readonly<Partial<Record<Node["fate"], string>>> = {
  kept: say`kept`,
  answer: say`ends`,
  hopeless: say`given up`,
  below: say`not kept`,
  unlikely: say`not kept`,
  undrawn: say`not drawn`,
  cut: say`left out`,
  forbidden: say`forbidden`,
};

/** The likeliest tokens of a step, each with a link to its number. */
export function Candidates({
  place,
  next,
  asked,
  nodes,
  chosen,
  search,
  onFork,
}: {
  place: number;
  /** The token that this run reads next, and the one that the search was left with. */
  next: number | undefined;
  asked: number | undefined;
  nodes: readonly Node[];
  /** The node that the text went on with. */
  chosen: Node | undefined;
  search: Search | null;
  /** Goes on with another token; null where no model is at hand. */
  onFork: ((token: number) => void) | null;
}): VNode {
  const { names, source } = useStore();
  const [found, setFound] = useState<{ of: Source; place: number; row: ArrayLike<number> | undefined } | null>(null);
  const tensor = "head.probabilities";
  const known = names.knows(tensor);
  useEffect(() => {
    let current = known && place >= 0;
    if (current) {
      const told = (row: ArrayLike<number> | undefined): void => {
        if (current) setFound({ of: source, place, row });
      };
      // Of a server that is gone there are those that the search looked at.
      source.numbersAt(tensor, [place]).then(told, () => told(undefined));
    }
    return () => {
      current = false;
    };
  }, [source, place, known]);
  const own = found !== null && found.of === source && found.place === place ? found : null;
  if (nodes.length === 0 && (!known || place < 0)) {
    return <p class="wrong">{say`This run has no scores of the vocabulary at this word.`}</p>;
  }
  if (nodes.length === 0 && own === null) return <p class="quiet">…</p>;
  const whole = own?.row !== undefined;
  // A page without them all has those of the tokens that the search looked at.
  const row: { readonly [token: number]: number } = own?.row ?? probabilitiesOf(nodes);
  const tokens = whole ? Array.from(own?.row ?? [], (_, token) => token) : nodes.map(({ token }) => token);
  const order = tokens.sort((one, two) => (row[two] ?? 0) - (row[one] ?? 0));
  const listed = order.slice(0, LISTED);
  const told = asked ?? next ?? chosen?.token;
  for (const one of [next, asked, chosen?.token]) if (one !== undefined && !listed.includes(one)) listed.push(one);
  const drawn = nodes.some(({ share }) => share !== null);
  const shareOf = (token: number): number | null => nodes.find((node) => node.token === token)?.share ?? null;
  const most = Math.max(row[order[0] ?? 0] ?? 1, ...listed.map((token) => shareOf(token) ?? 0));
  const left = 1 - listed.reduce((sum, token) => sum + (row[token] ?? 0), 0);
  const leftOfDraw = 1 - listed.reduce((sum, token) => sum + (shareOf(token) ?? 0), 0);
  return (
    <section class="block candidates">
      <h2>{say`What could come next`}</h2>
      <table>
        {drawn && (
          <thead>
            <tr>
              <th>{say`token`}</th>
              <td class="bar" />
              <th>{say`model`}</th>
              <th>{say`drawn with`}</th>
              <td />
            </tr>
          </thead>
        )}
        <tbody>
          {listed.map((token) => {
            const node = nodes.find((each) => each.token === token);
            const fate = node === undefined ? undefined : node.draw !== null ? say`drawn` : FATES[node.fate];
            const share = shareOf(token);
            const byHand = drawn && node?.draw == null;
            const why =
              token === asked ? say`opened from the search` : token !== next ? "" : byHand ? say`by hand` : say`taken`;
            return (
              <tr key={token} aria-current={token === told} data-token={token}>
                <th>
                  {onFork === null || token === next || search?.record.ends?.includes(token) === true ? (
                    <bdi>{names.label(tensor, "vocabulary", token, 0).text}</bdi>
                  ) : (
                    <button type="button" title={say`Go on with this word`} onClick={() => onFork(token)}>
                      <bdi>{names.label(tensor, "vocabulary", token, 0).text}</bdi>
                    </button>
                  )}
                </th>
                <td class="bar">
                  <i style={{ width: `${(100 * (row[token] ?? 0)) / most}%` }} />
                  {share !== null && <i class="after" style={{ width: `${(100 * share) / most}%` }} />}
                </td>
                <td>
                  {whole ? (
                    <a href={toNumber(tensor, [place, token], names)} data-value={row[token]}>
                      {short(row[token] ?? 0)}
                    </a>
                  ) : (
                    row[token] !== undefined && short(row[token])
                  )}
                </td>
                {drawn && <td data-share={share ?? undefined}>{share === null ? "" : short(share)}</td>}
                <td>{[why, fate].filter(Boolean).join(", ")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">
        {say`${
          whole
            ? counted(tokens.length - listed.length, "other token")
            : say`The other tokens, whose probabilities are not on this page,`
        } together ${percent(Math.max(left, 0))}${drawn && say`, of the draw ${percent(Math.max(leftOfDraw, 0))}`}`}
      </p>
      <Why search={search} chosen={chosen} best={order[0]} />
    </section>
  );
}

function probabilitiesOf(nodes: readonly Node[]): { readonly [token: number]: number } {
  return Object.fromEntries(nodes.map((node) => [node.token, Math.exp(node.log_probability)]));
}

/** Why one of them was chosen. */
function Why({
  search,
  chosen,
  best,
}: {
  search: Search | null;
  chosen: Node | undefined;
  best: number | undefined;
}): VNode | null {
  if (search === null || chosen === undefined) return null;
  const word = <bdi class="strong">{search.word(chosen)}</bdi>;
  // Where a number was drawn, the picture above says so.
  if (search.record.settings.method === "sample") return null;
  if (chosen.token === best) return <p>{say`${word}: no token is likelier (argmax).`}</p>;
  return (
    <p>
      {word}: {search.why(chosen)}
    </p>
  );
}
