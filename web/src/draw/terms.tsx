/** Terms of a sum with their numbers, as MathML: what formulas are put together from. */

import type { ComponentChildren, VNode } from "preact";
import { type Factor, isFill, type Term, type Terms } from "../formulas/evaluator.ts";
import type { Names, Role } from "../formulas/names.ts";
import { largestPlaces, sumWithout } from "../numbers/arithmetic.ts";
import { more, short } from "../numbers/written.ts";

/** How many terms of a sum are written out. */
export const WRITTEN = 4;

/** A number, in the colour of what it is. */
export function Digits({ value, of, bold }: { value: number; of?: Role; bold?: boolean }): VNode {
  const style = bold === true ? { fontWeight: 600 } : {};
  return (
    <mn class={of ?? ""} style={style}>
      {short(value)}
    </mn>
  );
}

/** A function of what stands in its brackets. */
export function Call({ name, inside }: { name: string; inside: ComponentChildren }): VNode {
  return (
    <mrow>
      <mi>{name}</mi>
      <mo>(</mo>
      {inside}
      <mo>)</mo>
    </mrow>
  );
}

/** A sum of its largest terms, each a piece, and what the others come to. */
export function pieces(terms: Terms, names: Names, few: number): ComponentChildren[] {
  const shown = largestPlaces(terms.values, few);
  const rest = terms.length - shown.length;
  const found: ComponentChildren[] = shown.map((at, place) => (
    <>
      {place > 0 && (
        <>
          <mi />
          <mo>+</mo>
        </>
      )}
      <Product term={terms.at(at)} names={names} />
    </>
  ));
  if (rest === 0) return found;
  const sum = sumWithout(terms.values, shown);
  return [
    ...found,
    <>
      <mi />
      <mo>+</mo>
      <mtext class="quiet">
        {more(rest, terms.length)}: {short(sum)}
      </mtext>
    </>,
  ];
}

/** A sum of its largest terms, in their order, and what the others come to. */
export function Sum({ terms, names, joint = "+" }: { terms: Terms; names: Names; joint?: string }): VNode {
  const shown = largestPlaces(terms.values, WRITTEN);
  const rest = terms.length - shown.length;
  return (
    <mrow>
      {shown.map((at, place) => (
        <>
          {place > 0 && <mo>{joint}</mo>}
          <Product term={terms.at(at)} names={names} />
        </>
      ))}
      {rest > 0 && (
        <>
          <mo>{joint}</mo>
          <mtext class="quiet">
            {more(rest, terms.length)}
            {joint === "+" ? `: ${short(sumWithout(terms.values, shown))}` : ""}
          </mtext>
        </>
      )}
    </mrow>
  );
}

/** One term with its factors. */
export function Product({ term, names }: { term: Term | undefined; names: Names }): VNode | null {
  if (term === undefined) return null;
  if (term.factors.length === 0 || isFill(term)) return <Bracketed value={term.value} />;
  return (
    <mrow>
      {term.factors.map((factor, place) => (
        <>
          {place > 0 && <mo>{term.added === true ? "+" : "·"}</mo>}
          <Bracketed value={factor.value} of={roleOf(factor, names)} />
        </>
      ))}
    </mrow>
  );
}

function roleOf(factor: Factor, names: Names): Role {
  return factor.name === null ? "residual" : names.role(factor.name);
}

/** A negative number in brackets, for it follows a sign. */
export function Bracketed({ value, of }: { value: number; of?: Role }): VNode {
  const number = of === undefined ? <Digits value={value} /> : <Digits value={value} of={of} />;
  if (value >= 0) return number;
  return (
    <mrow>
      <mo>(</mo>
      {number}
      <mo>)</mo>
    </mrow>
  );
}

/** Those of a sum that were asked for: its bars and what is next to them ask for the same hundreds. */
const largest = new WeakMap<Terms, Map<number, readonly Term[]>>();

/** The largest terms of a sum, in their order; of equal ones those that come first. */
export function largestTerms(terms: Terms, count: number): readonly Term[] {
  const known = largest.get(terms) ?? new Map<number, readonly Term[]>();
  largest.set(terms, known);
  const found = known.get(count) ?? largestPlaces(terms.values, count).map((place) => terms.at(place) as Term);
  known.set(count, found);
  return found;
}
