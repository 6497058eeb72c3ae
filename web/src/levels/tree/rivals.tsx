/** The hypotheses that a beam holds after a step: the way of the text, and its rivals, each with its score. */

import type { VNode } from "preact";
import { link } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { rivalsAt, shared } from "./written/line.ts";
import type { Node, Search } from "./written/search.ts";

const FATES: Readonly<Partial<Record<Node["fate"], string>>> = {
  answer: say`a complete answer`,
  hopeless: say`given up: it cannot win any more`,
};

export function Rivals(props: {
  readonly search: Search;
  readonly step: number;
  readonly ids: readonly number[];
  /** Goes on with one of them; null where no model is at hand. */
  readonly onFork: ((node: Node) => void) | null;
}): VNode | null {
  const { search, step, ids, onFork } = props;
  const rivals = rivalsAt(search, step);
  const first = rivals[0];
  if (search.record.settings.method !== "beam" || first === undefined) return null;
  return (
    <section class="block rivals">
      <h2>{say`What the beam holds after this word`}</h2>
      <table>
        <thead>
          <tr>
            <th>{say`begins with`}</th>
            <td class="bar" />
            <th>{say`total`}</th>
            <th>{say`score`}</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {rivals.map((node) => {
            const own = shared(search.readWhole(node), ids) >= Math.min(step + 2, ids.length);
            const text = search.textUpTo(node) || search.word(node);
            return (
              <tr key={node.number} aria-current={own} data-node={node.number}>
                <th>
                  {onFork === null || own || node.fate === "answer" ? (
                    <bdi>{text}</bdi>
                  ) : (
                    <button type="button" title={say`Go on with this one`} onClick={() => onFork(node)}>
                      <bdi>{text}</bdi>
                    </button>
                  )}
                </th>
                <td class="bar">
                  <i style={{ width: `${100 * Math.exp(node.total - first.total)}%` }} />
                </td>
                <td>
                  <a href={link({ picture: "", at: [node.number] })} data-value={node.total}>
                    {short(node.total)}
                  </a>
                </td>
                <td data-score={node.score}>
                  {node.fate === "answer" ? <b>{short(node.score)}</b> : short(node.score)}
                </td>
                <td>{FATES[node.fate]}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      <p class="quiet">
        {say`total: the log-probabilities of its words, added up; score: the total divided by the length penalty. The bar: how likely it is next to the first.`}
      </p>
    </section>
  );
}
