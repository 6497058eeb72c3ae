/** Formulas as MathML: the general one, as Python writes it, and the same with the numbers of one cell in it. */

import type { ComponentChildren, VNode } from "preact";
import { h } from "preact";
import { useMemo } from "preact/hooks";
import { inOrder, isFill } from "../formulas/evaluator.ts";
import type { Explanation } from "../formulas/interpreter.ts";
import type { Names } from "../formulas/names.ts";
import { heard, say } from "../words/say.ts";
import { isLowered, Lowered, Powers, share } from "./softmax.tsx";
import { Bracketed, Call, Digits, Product, pieces, Sum, WRITTEN } from "./terms.tsx";

const TAGS = new Set([
  ...["math", "mrow", "mi", "mo", "mn", "msub", "msup", "mfrac", "msqrt", "munder", "mtable", "mtr", "mtd", "mtext"],
]);

/**
 * The general formula, in pieces between which a line may be broken. Only elements of MathML are taken over, and no
 * attributes: a name can never become a script.
 */
export function General({ mathml }: { mathml: string }): VNode {
  return useMemo(() => general(mathml), [mathml]);
}

function general(mathml: string): VNode {
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
    <section class="formula general" tabIndex={0} aria-label={say`the formula`}>
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
    <section class="formula" tabIndex={0} aria-label={say`the formula with its numbers`}>
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

/** The right side in pieces between which a line may be broken. */
function worked(found: Explanation, names: Names, few: number): ComponentChildren[] {
  const { rule } = found.formula.rule;
  if (PLAIN.has(rule)) return pieces(found.sum, names, few);
  if (rule === "softmax" && found.sum.at(0)?.what !== "nothing") return share(found, names, few);
  return [closed(found, names)];
}

const PLAIN = new Set(["linear", "dot_product", "weighted_sum", "add", "look_up", "scale", "concatenate"]);

function closed(found: Explanation, names: Names): ComponentChildren {
  const { sum, quantities, formula } = found;
  const quantity = (name: string): number => quantities[name] ?? Number.NaN;
  const kind = String(formula.rule["kind"] ?? "");
  switch (formula.rule.rule) {
    case "softmax":
      return <mn>0</mn>;
    case "fill_set":
    case "fill_add": {
      if (found.terms.every(isFill)) return <mtext class="quiet">{say`masked: not looked at`}</mtext>;
      return <Sum terms={sum} names={names} />;
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
      return <Call name={kind} inside={<Sum terms={sum} names={names} />} />;
    case "activated_linear":
      return <Call name={kind} inside={<Sum terms={sum} names={names} />} />;
    case "gate": {
      const [inner, x] = sum.at(0)?.factors ?? [];
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
      const inside = <Product term={sum.at(0)} names={names} />;
      return <Call name={sum.at(0)?.what.startsWith("sine") === true ? "sin" : "cos"} inside={inside} />;
    }
    case "largest":
    case "chain_best_end":
      return <Call name="max" inside={<Sum terms={sum} names={names} joint="," />} />;
    case "chain_end":
      return <Call name="log Σ exp" inside={<Sum terms={sum} names={names} joint="," />} />;
    case "chain_sum":
    case "chain_best":
      return "ways" in quantities ? <Ways found={found} names={names} /> : <Sum terms={sum} names={names} />;
    case "may_look":
    case "best_path":
      return (
        <mtext>
          {found.terms.map((term) => `${heard(term.what)}: ${term.value === 0 ? say`no` : say`yes`}`).join(", ") ||
            say`everywhere`}
        </mtext>
      );
    default:
      return <Sum terms={sum} names={names} />;
  }
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
      <Call name={name} inside={<Sum terms={inOrder(found.terms.slice(0, -1))} names={names} joint="," />} />
    </>
  );
}
