/** Formulas as MathML: the general one, as Python writes it, and the same with the numbers of one cell in it. */

import type { ComponentChildren, VNode } from "preact";
import { h } from "preact";
import { type Factor, isFill, type Term } from "../run/evaluator.ts";
import type { Explanation } from "../run/interpreter.ts";
import { shortened } from "../run/letters.ts";
import type { Names, Role } from "../run/names.ts";
import { more, short } from "../run/numbers.ts";

const TAGS = new Set([
  ...["math", "mrow", "mi", "mo", "mn", "msub", "msup", "mfrac", "msqrt", "munder", "mtable", "mtr", "mtd", "mtext"],
]);

/**
 * The general formula, in pieces between which a line may be broken. Only elements of MathML are taken over, and no
 * attributes: a name can never become a script.
 */
export function General({ mathml }: { mathml: string }): VNode {
  const lines: ComponentChildren[][] = [[]];
  const parted = (row: Element): void => {
    for (const child of row.children) {
      if (child.localName === "mrow") parted(child);
      else {
        if ("=+".includes(child.textContent)) lines.push([<mi />]);
        lines.at(-1)?.push(taken(child));
      }
    }
  };
  parted(new DOMParser().parseFromString(mathml, "application/xml").documentElement);
  return (
    <section class="formula general" tabIndex={0} aria-label="the formula">
      {lines.map((line) => (
        <math>
          <mrow>{line}</mrow>
        </math>
      ))}
    </section>
  );
}

function taken(element: Element): VNode {
  const inside = [...element.childNodes].map((node) => (node instanceof Element ? taken(node) : node.textContent));
  return h(TAGS.has(element.localName) ? element.localName : "mtext", {}, inside);
}

/** Up to this score the exponentials are written as they are, beyond it as shares of the largest. */
const NATURAL = 7;

/** How many terms of a sum are written out. */
const WRITTEN = 4;

/** The formula with the real numbers of one cell; `few` terms are written out where there is little room. */
export function WithNumbers({
  found,
  names,
  few = WRITTEN,
}: {
  found: Explanation;
  names: Names;
  few?: number;
}): VNode {
  return (
    <section class="formula" tabIndex={0} aria-label="the formula with its numbers">
      {worked(found, names, few).map((piece) => (
        <math>
          <mrow>{piece}</mrow>
        </math>
      ))}
      <math>
        <mrow>
          <mi />
          <mo>=</mo>
          <Digits value={found.recomputed} of={names.role(found.name)} bold />
        </mrow>
      </math>
      {isLowered(found) && <Lowered found={found} />}
    </section>
  );
}

/** Whether the formula is written with exponents that are less than the scores. */
export function isLowered({ formula, quantities: { largest = 0 } }: Explanation): boolean {
  return formula.rule.rule !== "softmax" || Math.abs(largest) >= NATURAL;
}

/** Why the exponents of a softmax are not the scores; nothing where none is. */
export function Lowered({ found: { formula, quantities } }: { found: Explanation }): VNode | null {
  const { largest = 0 } = quantities;
  if (!formula.rule.rule.endsWith("softmax") || largest === 0) return null;
  return (
    <small class="label lowered">
      Exponents are less the largest score, {short(largest)}: no overflow, the same result.
    </small>
  );
}

function Digits({ value, of, bold }: { value: number; of?: Role; bold?: boolean }): VNode {
  const style = bold === true ? { fontWeight: 600 } : {};
  return (
    <mn class={of ?? ""} style={style}>
      {short(value)}
    </mn>
  );
}

/** The right side in pieces between which a line may be broken. */
function worked(found: Explanation, names: Names, few: number): ComponentChildren[] {
  const { rule } = found.formula.rule;
  if (PLAIN.has(rule)) return pieces(found.terms, names, few);
  if (rule === "softmax" && found.terms[0]?.what !== "nothing") return share(found, names, few);
  return [closed(found, names)];
}

const PLAIN = new Set(["linear", "dot_product", "weighted_sum", "add", "look_up", "scale", "concatenate"]);

/** A sum of its largest terms, each a piece, and what the others come to. */
function pieces(terms: readonly Term[], names: Names, few: number): ComponentChildren[] {
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

function closed(found: Explanation, names: Names): ComponentChildren {
  const { terms, quantities, formula } = found;
  const quantity = (name: string): number => quantities[name] ?? Number.NaN;
  const kind = String(formula.rule["kind"] ?? "");
  switch (formula.rule.rule) {
    case "softmax":
      return <mn>0</mn>;
    case "fill_set":
    case "fill_add": {
      if (terms.every(isFill)) return <mtext class="quiet">masked: not looked at</mtext>;
      return <Sum terms={terms} names={names} />;
    }
    case "log_softmax":
      return (
        <>
          <Digits value={quantity("score")} />
          <mo>−</mo>
          <Digits value={quantity("largest")} />
          <mo>−</mo>
          <Call name="log" inside={<Powers found={found} names={names} few={WRITTEN} less={quantity("largest")} />} />
        </>
      );
    case "layer_norm":
    case "rms_norm":
      return <Normed found={found} names={names} />;
    case "activation":
      return <Call name={kind} inside={<Sum terms={terms} names={names} />} />;
    case "activated_linear":
      return <Call name={kind} inside={<Sum terms={terms} names={names} />} />;
    case "gate": {
      const [inner, x] = terms[0]?.factors ?? [];
      if (inner === undefined || x === undefined) return null;
      return (
        <>
          <Call name={kind} inside={<Digits value={inner.value} />} />
          <mo>·</mo>
          <Digits value={x.value} />
        </>
      );
    }
    case "sinusoid": {
      const inside = <Product term={terms[0]} names={names} />;
      return <Call name={terms[0]?.what.startsWith("sine") === true ? "sin" : "cos"} inside={inside} />;
    }
    case "largest":
    case "chain_best_end":
      return <Call name="max" inside={<Sum terms={terms} names={names} joint="," />} />;
    case "chain_end":
      return <Call name="log Σ exp" inside={<Sum terms={terms} names={names} joint="," />} />;
    case "chain_sum":
    case "chain_best":
      return "ways" in quantities ? <Ways found={found} names={names} /> : <Sum terms={terms} names={names} />;
    case "may_look":
    case "best_path":
      return (
        <mtext>
          {terms.map((term) => `${term.what}: ${term.value === 0 ? "no" : "yes"}`).join(", ") || "everywhere"}
        </mtext>
      );
    default:
      return <Sum terms={terms} names={names} />;
  }
}

function Call({ name, inside }: { name: string; inside: ComponentChildren }): VNode {
  return (
    <mrow>
      <mi>{name}</mi>
      <mo>(</mo>
      {inside}
      <mo>)</mo>
    </mrow>
  );
}

/** A share: its own exponential over the sum of all, and the same as two numbers. */
function share(found: Explanation, names: Names, few: number): VNode[] {
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
function Powers({ found, names, few, less }: { found: Explanation; names: Names; few: number; less: number }): VNode {
  const { terms } = found;
  const shared = terms.filter((term) => term.value !== 0);
  // What is on top stands below too, however small it is.
  const own = terms[placeIn(found)];
  const others = shared.filter((term) => term !== own);
  const largest = largestTerms(others, few - 1);
  const left = others.length - largest.length;
  return (
    <mrow>
      {shared
        .filter((term) => term === own || largest.includes(term))
        .map((term, place) => (
          <>
            {place > 0 && <mo>+</mo>}
            <Power
              value={(term.factors[0]?.value ?? 0) - less}
              of={term === own ? "attention" : "quiet"}
              word={wordAt(found, names, terms.indexOf(term))}
            />
          </>
        ))}
      {left > 0 && <mtext class="quiet">{` + ${more(left, shared.length)}`}</mtext>}
      {shared.length < terms.length && <mtext class="quiet">{`\u00a0+ ${terms.length - shared.length} × 0`}</mtext>}
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

function Normed({ found, names }: { found: Explanation; names: Names }): VNode {
  const { terms, quantities } = found;
  const [own, ...others] = terms;
  const bias = others.find((term) => term.what === "bias");
  const mean = quantities["mean"];
  return (
    <>
      <mfrac>
        <mrow>
          <Digits value={own?.factors[0]?.value ?? 0} of={names.role(own?.factors[0]?.name ?? "")} />
          {mean !== undefined && (
            <>
              <mo>−</mo>
              <Bracketed value={mean} />
            </>
          )}
        </mrow>
        <Digits value={quantities["deviation"] ?? 0} />
      </mfrac>
      <mo>·</mo>
      <Bracketed value={own?.factors[1]?.value ?? 1} />
      {bias !== undefined && (
        <>
          <mo>+</mo>
          <Bracketed value={bias.value} />
        </>
      )}
    </>
  );
}

function Ways({ found, names }: { found: Explanation; names: Names }): VNode {
  const logit = found.terms.at(-1);
  const name = found.formula.rule.rule === "chain_best" ? "max" : "log Σ exp";
  return (
    <>
      <Digits value={logit?.value ?? 0} />
      <mo>+</mo>
      <Call name={name} inside={<Sum terms={found.terms.slice(0, -1)} names={names} joint="," />} />
    </>
  );
}

/** A sum of its largest terms, in their order, and what the others come to. */
function Sum({ terms, names, joint = "+" }: { terms: readonly Term[]; names: Names; joint?: string }): VNode {
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
function Product({ term, names }: { term: Term | undefined; names: Names }): VNode | null {
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
function Bracketed({ value, of }: { value: number; of?: Role }): VNode {
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
