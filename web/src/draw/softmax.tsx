/** A softmax with its numbers, as MathML: exponentials over their sum, lowered where they would be too large. */

import type { VNode } from "preact";
import { inOrder, type Term } from "../formulas/evaluator.ts";
import type { Explanation } from "../formulas/interpreter.ts";
import type { Names, Role } from "../formulas/names.ts";
import { largestPlaces, nonzero } from "../numbers/arithmetic.ts";
import { shortened } from "../numbers/letters.ts";
import { more, short } from "../numbers/written.ts";
import { say } from "../words/say.ts";
import { Digits } from "./terms.tsx";

/** Up to this score the exponentials are written as they are, beyond it as shares of the largest. */
const NATURAL = 7;

/** Whether the formula is written with exponents that are less than the scores. */
export function isLowered({ formula, quantities: { largest = 0 } }: Explanation): boolean {
  return formula.rule.rule !== "softmax" || Math.abs(largest) >= NATURAL;
}

const natural = new WeakMap<Explanation, Explanation>();

/** The terms as the formula is written: the softmax has worked with exponents that are less the largest score. */
export function written(found: Explanation): Explanation {
  const { largest = 0, own = 0, sum = 0 } = found.quantities;
  if (isLowered(found) || largest === 0) return found;
  const times = Math.exp(largest);
  const terms = Array.from(found.sum.values, (value, at) => ({ ...(found.sum.at(at) as Term), value: value * times }));
  const made = natural.get(found) ?? {
    ...{ ...found, sum: inOrder(terms) },
    quantities: { ...found.quantities, own: own * times, sum: sum * times },
  };
  natural.set(found, made);
  return made;
}

/** Why the exponents of a softmax are not the scores; nothing where none is. */
export function Lowered({ found: { formula, quantities } }: { found: Explanation }): VNode | null {
  const { largest = 0 } = quantities;
  if (!formula.rule.rule.endsWith("softmax") || largest === 0) return null;
  return (
    <small class="label lowered">
      {say`The largest score, ${short(largest)}, is first subtracted from every score. The shares stay the same.`}
    </small>
  );
}

/** A share: its own exponential over the sum of all, and the same as two numbers. */
export function share(found: Explanation, names: Names, few: number): VNode[] {
  const { score = 0, largest = 0, own = 0, sum = 0 } = found.quantities;
  const lowered = isLowered(found);
  const [scale, less] = lowered ? [1, largest] : [Math.exp(largest), 0];
  return [
    <mfrac>
      <Power value={score - less} of="attention" word={wordAt(found, names, placeIn(found))} />
      <Powers found={found} names={names} few={few} less={less} />
    </mfrac>,
    <>
      <mi />
      <mo>=</mo>
      <mfrac>
        <Digits value={own * scale} of="attention" />
        <Digits value={sum * scale} />
      </mfrac>
    </>,
  ];
}

function Power({ value, of, word }: { value: number; of: Role | "quiet"; word: string }): VNode {
  return (
    <munder>
      <msup>
        <mi>e</mi>
        <mn class={of}>{short(value)}</mn>
      </msup>
      <mtext>{word}</mtext>
    </munder>
  );
}

/** The exponentials that a softmax adds up, each exponent lowered by `less`. */
export function Powers({
  found,
  names,
  few,
  less,
}: {
  found: Explanation;
  names: Names;
  few: number;
  less: number;
}): VNode {
  const { length, values } = found.sum;
  const shared = nonzero(values);
  // What is on top stands below too, however small it is.
  const own = placeIn(found);
  // One that is left takes no more room than saying so.
  const room = shared === few + 1 ? few : few - 1;
  const shown = largestPlaces(values, room, (value, place) => place === own || value === 0);
  if (values[own] !== 0) shown.push(own);
  const left = shared - shown.length;
  return (
    <mrow>
      {shown
        .sort((one, two) => one - two)
        .map((at, place) => (
          <>
            {place > 0 && <mo>+</mo>}
            <Power
              value={(found.sum.at(at)?.factors[0]?.value ?? 0) - less}
              of={at === own ? "attention" : "quiet"}
              word={wordAt(found, names, at)}
            />
          </>
        ))}
      {left > 0 && [<mo>+</mo>, <mtext class="quiet">{more(left, shared)}</mtext>]}
      {shared < length && [
        <mo>+</mo>,
        <munder>
          <mtext class="quiet">{`${length - shared} × 0`}</mtext>
          <mtext>{say`forbidden`}</mtext>
        </munder>,
      ]}
    </mrow>
  );
}

/** Which of the terms of a softmax the number is. */
function placeIn({ formula, cell }: Explanation): number {
  return cell[String(formula.rule["over"])] ?? 0;
}

/** What a term of a softmax is called. */
function wordAt({ name, formula, cell }: Explanation, names: Names, place: number): string {
  const { text } = names.label(name, String(formula.rule["over"]), place, cell["sentence"] ?? 0);
  return [...text].length > 10 ? shortened(text, 9) : text;
}
