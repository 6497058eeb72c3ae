/** Where the draw fell: the candidates' parts of all probabilities, end to end, and the number that was drawn. */

import type { VNode } from "preact";
import { percent, short } from "../../numbers/written.ts";
import { say } from "../../words/say.ts";
import { partsOf } from "./written/line.ts";
import type { Node, Search } from "./written/search.ts";

/** The picture has at least so many pixels, and a letter at most so many: a word that its part has no room for is left out. */
const [LEAST, LETTER, AROUND] = [300, 9, 6];

export function Drawn({
  search,
  nodes,
  chosen,
}: {
  search: Search;
  nodes: readonly Node[];
  /** The node that the text went on with; undefined where that was none of those looked at. */
  chosen: Node | undefined;
}): VNode | null {
  const drawn = nodes.find(({ draw }) => draw !== null);
  if (drawn === undefined || drawn.draw === null) return null;
  const [number, from, to] = drawn.draw;
  const parts = partsOf(nodes);
  const rest = 1 - parts.reduce((sum, { size }) => sum + size, 0);
  const said = say`from 0 to 1: the part of “${search.word(drawn)}” from ${short(from, 4)} to ${short(to, 4)}, and the number ${short(number, 4)} in it`;
  return (
    <section class="block draw">
      <div class="drawn" data-draw={drawn.draw.join()} role="img" aria-label={said}>
        {parts.map((part) => (
          <i
            key={part.node.token}
            data-own={part.node === (chosen ?? drawn)}
            title={`${search.word(part.node)}: ${short(part.size)}`}
            style={{ left: `${100 * part.from}%`, width: `${100 * part.size}%` }}
          >
            {part.size * LEAST >= search.word(part.node).length * LETTER + AROUND && (
              <bdi>{search.word(part.node)}</bdi>
            )}
          </i>
        ))}
        <b style={{ left: `${100 * number}%` }} />
      </div>
      <p class="quiet">
        {say`All probabilities end to end, from 0 to 1: ${short(number, 4)} was drawn, and ${<bdi class="strong">{search.word(drawn)}</bdi>} lies from ${short(from, 4)} to ${short(to, 4)}.${drawn !== chosen && say` Another word was put in its place by hand.`}${rest > 0.005 && say` The gaps, ${percent(rest)}, are those of the other tokens.`}`}
      </p>
    </section>
  );
}
