/** Terms of a sum with their numbers, as MathML: what formulas are put together from. */

import type { ComponentChildren, VNode } from "preact";
import { type Factor, isFill, type Term } from "../run/evaluator.ts";
import type { Names, Role } from "../run/names.ts";
import { more, short } from "../run/numbers.ts";

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
export function pieces(terms: readonly Term[], names: Names, few: number): ComponentChildren[] {
  const shown = largestTerms(terms, few);
  const rest = terms.filter((term) => !shown.includes(term));
  const found: ComponentChildren[] = shown.map((term, place) => (
    <>
      {place > 0 && (
        <>
          <mi />
          <mo>+</mo>
        </>
      )}
      <Product term={term} names={names} />
    </>
  ));
  if (rest.length === 0) return found;
  const sum = rest.reduce((all, term) => all + term.value, 0);
  return [
    ...found,
    <>
      <mi />
      <mo>+</mo>
      <mtext class="quiet">
        {more(rest.length, terms.length)}: {short(sum)}
      </mtext>
    </>,
  ];
}

/** A sum of its largest terms, in their order, and what the others come to. */
export function Sum({ terms, names, joint = "+" }: { terms: readonly Term[]; names: Names; joint?: string }): VNode {
  const shown = largestTerms(terms, WRITTEN);
  const rest = terms.filter((term) => !shown.includes(term));
  return (
    <mrow>
      {shown.map((term, place) => (
        <>
          {place > 0 && <mo>{joint}</mo>}
          <Product term={term} names={names} />
        </>
      ))}
      {rest.length > 0 && (
        <>
          <mo>{joint}</mo>
          <mtext class="quiet">
            {more(rest.length, terms.length)}
            {joint === "+" ? `: ${short(rest.reduce((sum, term) => sum + term.value, 0))}` : ""}
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

/** A negative number in brackets, for it stands behind a sign. */
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

/** The largest terms of a sum, in their order; of equal ones those that come first. */
export function largestTerms(terms: readonly Term[], count: number): readonly Term[] {
  if (terms.length <= count) return terms;
  // Sizes alone are sorted, and of a vocabulary's thousands only those that are among the largest so far.
  const sizes = new Float64Array(2 * count);
  let [held, least] = [0, -1];
  for (const { value } of terms) {
    const size = Math.abs(value);
    if (size <= least) continue;
    sizes[held++] = size;
    if (held < sizes.length) continue;
    sizes.sort();
    sizes.copyWithin(0, count);
    [held, least] = [count, sizes[0] ?? 0];
  }
  const largest = sizes
    .subarray(0, held)
    .sort()
    .subarray(held - count);
  const smallest = largest[0] ?? 0;
  let equal = count - largest.filter((size) => size > smallest).length;
  return terms.filter(({ value }) => {
    const size = Math.abs(value);
    return size > smallest || (size === smallest && equal-- > 0);
  });
}
