/** The search as a table: what is drawn, in numbers. */

import type { VNode } from "preact";
import { link } from "../../address/state.ts";
import { short } from "../../numbers/written.ts";
import { Scroll } from "../../views/pieces.tsx";
import { say } from "../../words/say.ts";
import type { Search } from "./written/search.ts";

export function TreeTable({ search }: { search: Search }): VNode {
  const drawn = search.record.nodes.some(({ share }) => share !== null);
  return (
    <details class="twin">
      <summary>{say`the same as a table`}</summary>
      <Scroll label={say`the search in numbers`}>
        <table>
          <thead>
            <tr>
              <th>{say`step`}</th>
              <th>{say`word`}</th>
              <th>{say`behind`}</th>
              <th>{say`log-probability`}</th>
              <th>{say`total`}</th>
              <th>{say`score`}</th>
              {drawn && <th>{say`drawn with`}</th>}
              <th>{say`what became of it`}</th>
            </tr>
          </thead>
          <tbody>
            {search.rows.map((node) => {
              const parent = search.node(node.parent ?? undefined);
              const before = parent === undefined ? say`the start` : search.textUpTo(parent);
              return (
                <tr key={node.number} data-node={node.number} data-best={search.best.has(node.number)}>
                  <td>{node.step + 1}</td>
                  <th>
                    <a href={link({ at: [node.number] })}>{search.word(node)}</a>
                  </th>
                  <td>
                    <bdi>{before}</bdi>
                  </td>
                  <td data-value={node.log_probability}>{short(node.log_probability)}</td>
                  <td data-value={node.total}>{short(node.total)}</td>
                  <td>{node.fate === "answer" ? short(node.score) : ""}</td>
                  {drawn && <td>{node.share === null ? "" : short(node.share)}</td>}
                  <td>
                    {search.best.has(node.number) ? say`on the way to the best answer. ` : ""}
                    {search.why(node)}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}
