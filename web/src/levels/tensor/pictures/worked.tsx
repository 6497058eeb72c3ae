/** A number that no tensor holds, worked out under its picture: what it is, its terms, and a link to each operand. */

import type { VNode } from "preact";
import { factorLink } from "../../../address/links.ts";
import type { Factor, Term } from "../../../formulas/evaluator.ts";
import { counted, short } from "../../../numbers/written.ts";
import { useStore } from "../../../views/hooks.ts";
import { heard } from "../../../words/say.ts";

/** At most so many terms are listed, the largest. */
const LISTED = 12;

interface WorkedProps {
  readonly title: string;
  readonly value: number;
  readonly terms: readonly Term[];
  /** How the terms become the value. */
  readonly how: string;
}

export function Worked({ title, value, terms, how }: WorkedProps): VNode {
  const largest = [...terms].sort((one, two) => Math.abs(two.value) - Math.abs(one.value)).slice(0, LISTED);
  const rest = terms.filter((term) => !largest.includes(term));
  return (
    <section class="worked" aria-live="polite" data-worked={String(value)}>
      <p>
        {title} <b>{short(value)}</b>, <span class="quiet">{how}</span>
      </p>
      <table>
        <tbody>
          {terms
            .filter((term) => largest.includes(term))
            .map((term) => (
              <tr>
                <th scope="row">{heard(term.what)}</th>
                {term.factors.map((factor) => (
                  <td>
                    <Operand factor={factor} />
                  </td>
                ))}
                <td>{short(term.value)}</td>
              </tr>
            ))}
          {rest.length > 0 && (
            <tr>
              <th scope="row">{counted(rest.length, "more term")}</th>
              <td colSpan={3}>{short(rest.reduce((sum, term) => sum + term.value, 0))}</td>
            </tr>
          )}
        </tbody>
      </table>
    </section>
  );
}

/** A number that leads to its own place in the run, where it has one. */
export function Operand({ factor }: { factor: Factor }): VNode {
  const { names } = useStore();
  if (factor.name === null) return <span>{short(factor.value)}</span>;
  return (
    <a
      href={factorLink(factor, names)}
      data-operand={factor.name}
      data-at={factor.index.join(",")}
      data-value={String(factor.value)}
    >
      {short(factor.value)}
    </a>
  );
}
