/** One number: its value, what it means, its formula with the real numbers, and every number that it was made of. */

import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { factorLink, toTensor } from "../../address/links.ts";
import { go, state } from "../../address/state.ts";
import { General, WithNumbers } from "../../draw/mathml.tsx";
import { written } from "../../draw/softmax.tsx";
import { largestTerms } from "../../draw/terms.tsx";
import { OfBoth } from "../../edit/views/of_both.tsx";
import { isFill, operandsOf, type Term } from "../../formulas/evaluator.ts";
import type { Explanation } from "../../formulas/interpreter.ts";
import { type Names, spoken } from "../../formulas/names.ts";
import { givenSentence, type Part, sentenceOf } from "../../formulas/sentences.ts";
import { largestPlaces, sumWithout } from "../../numbers/arithmetic.ts";
import { counted, full, more, percent, short } from "../../numbers/written.ts";
import type { Answer } from "../../run/store.ts";
import { useNextTask, usePalette, useStore, useWidth } from "../../views/hooks.ts";
import { measure, Picture } from "../../views/picture.tsx";
import { Scroll } from "../../views/pieces.tsx";
import { heard, say } from "../../words/say.ts";
import { Absent, AbsentView } from "../tensor/absent.tsx";
import { barsOf, barsScene } from "./bars_scene.ts";
import { Check, Sentence, SetByHand } from "./pieces.tsx";

/** A number of which an operand is not in this page: its formula, and the operands that are. */
function Unworked({ answer }: { answer: Extract<Answer, { kind: "missing" }> }): VNode {
  const { names } = useStore();
  const formula = names.formulas.get(answer.name);
  const others =
    formula === undefined ? [] : operandsOf(formula.rule).filter(([, { name }]) => name !== answer.missing);
  const cell = Object.fromEntries(names.axes(answer.name).map((axis, place) => [axis, answer.cell[place] ?? 0]));
  return (
    <>
      {formula !== undefined && <General mathml={formula.mathml} />}
      <ul class="links">
        {others.map(([role, { name }]) => (
          <li key={role}>
            <a
              href={toTensor(
                name,
                names.axes(name).map((axis) => cell[axis] ?? 0),
                names,
              )}
            >
              {names.title(name)}
            </a>
          </li>
        ))}
      </ul>
      <Absent name={answer.missing} />
    </>
  );
}

/**
 * The number, what it means and its formula come first, its terms one task later: the article bears the name of the cell
 * when all of it is there.
 */
export function NumberView({ answer }: { answer: Answer | null }): VNode | null {
  const { names } = useStore();
  const whole = useNextTask(answer) ?? answer;
  if (answer === null || whole === null) return null;
  if (answer.kind === "missing" && answer.value === null) return <AbsentView name={answer.name} />;
  const value = numberOf(answer);
  const role = names.role(answer.name);
  return (
    <article
      data-tensor={whole.name}
      data-cell={whole.cell.join(",")}
      data-value={String(numberOf(whole))}
      data-kind={whole.kind}
    >
      <div class="headline" data-number={answer.name} data-at={answer.cell.join(",")}>
        <div>
          <h1 class={`big ${role}`}>{short(value)}</h1>
          <p class="quiet">{full(value, names.run.precision)}</p>
          {answer.kind === "computed" && <Check found={answer.found} />}
        </div>
        {answer.kind === "set" && <SetByHand answer={answer} />}
        {answer.kind === "difference" && <OfBoth answer={answer} />}
        <p hidden={answer.kind === "set" || answer.kind === "difference"}>
          <Sentence
            parts={answer.kind === "computed" ? sentenceOf(answer.found, names) : given(answer, value, names)}
          />
        </p>
      </div>
      {answer.kind === "missing" && <Unworked answer={answer} />}
      {answer.kind === "computed" && <Written found={answer.found} />}
      {answer.kind === "computed" && whole.kind === "computed" && <Computed found={written(whole.found)} />}
    </article>
  );
}

function numberOf(answer: Answer): number {
  return answer.kind === "computed" ? answer.found.value : (answer.value ?? 0);
}

function given(answer: Answer, value: number, names: Names): Part[] {
  if (answer.kind === "missing")
    return [say`The model computed this number; the page lacks an operand, and cannot compute it again.`];
  return givenSentence(answer.name, answer.cell, value, names);
}

function Written({ found }: { found: Explanation }): VNode {
  const { names } = useStore();
  return (
    <section class="block">
      <h2>{say`Formula`}</h2>
      <General mathml={found.formula.mathml} />
      <WithNumbers found={found} names={names} />
    </section>
  );
}

/** Its terms: they are drawn again for another number, and where their links lead on from another place. */
function Computed({ found }: { found: Explanation }): VNode {
  const { names } = useStore();
  const { theme, kept } = state.value;
  return useMemo(() => termsOf(found, names), [found, names, theme, kept]);
}

function termsOf(found: Explanation, names: Names): VNode {
  const { sum: terms, formula } = found;
  const share = formula.rule.rule === "softmax" && terms.at(0)?.what !== "nothing" && terms.length > 1;
  // A fill is alone, or after what it is added to.
  const filled = [terms.at(0), terms.at(terms.length - 1)].some((term) => term !== undefined && isFill(term));
  const called = (term: Term): string => termLabel(term, found, names);
  return (
    <>
      {share && <Shares found={found} called={called} />}
      {terms.length > 1 && !filled && <Bars found={found} called={called} />}
      {terms.length > 0 && <Table found={found} called={called} />}
    </>
  );
}

/** A fraction as one bar: each term's share of the sum. */
function Shares({ found, called }: { found: Explanation; called: (term: Term) => string }): VNode {
  const { names } = useStore();
  const sum = found.quantities["sum"] ?? 1;
  const own = found.quantities["own"];
  const shown = largestTerms(found.sum, 8).filter((term) => term.value / sum > 0.004);
  const rest = found.sum.length - shown.length;
  // Of keys that may not be looked at nothing is left but rounding.
  const open = Array.from(found.sum.values).filter(Boolean).length;
  const sure = shown.reduce((all, term) => all + term.value / sum, 0);
  const left = open === shown.length ? 0 : Math.max(0, 1 - sure);
  // A narrow part has no room for its word; it is shown when it is pointed at, and in the table.
  const wide = (share: number): boolean => share > 0.07;
  return (
    <section class="block">
      <h2>{say`Its share of the whole`}</h2>
      <div class="shares">
        {shown.map((term) => {
          const factor = term.factors[0];
          const text = called(term);
          return (
            <a
              href={factor === undefined ? "" : factorLink(factor, names)}
              class="share"
              data-own={term.value === own}
              style={{ flexGrow: term.value / sum }}
              title={`${text}: ${percent(term.value / sum)}`}
            >
              <span>{wide(term.value / sum) && text}</span>
              <i />
              <span>{wide(term.value / sum) && percent(term.value / sum)}</span>
            </a>
          );
        })}
        {left > 0.004 && (
          <span class="share" data-rest="true" style={{ flexGrow: left }}>
            <span>{wide(left) && say`the others`}</span>
            <i />
            <span>{wide(left) && percent(left)}</span>
          </span>
        )}
      </div>
      {rest > 0 && <p class="label">{say`${more(rest, found.sum.length)}, with ${percent(left)} together`}</p>}
    </section>
  );
}

const WORTH: Readonly<Record<string, string>> = { softmax: say`e to the power`, log_softmax: say`e to the power` };

function Bars({ found, called }: { found: Explanation; called: (term: Term) => string }): VNode {
  const { names } = useStore();
  const palette = usePalette();
  const { box, width } = useWidth("terms");
  const bars = useMemo(() => {
    const worth = WORTH[found.formula.rule.rule] ?? say`product`;
    return barsOf(found.sum, names, worth, names.role(found.name), called);
  }, [found]);
  const scene = useMemo(() => (width === 0 ? null : barsScene(bars, palette, measure, width)), [bars, palette, width]);
  const factorAt = (row: number, column: number) => bars.rows[row]?.factors[column] ?? null;
  return (
    <section class="block">
      <h2>
        {WORTH[found.formula.rule.rule] === undefined ? say`Multiply, then add` : say`What is shared out`}{" "}
        <span class="quiet label">
          {counted(found.sum.length, "term")}
          {bars.rest !== null &&
            say`, the largest ${bars.columns.length} drawn; ${more(bars.rest.count, found.sum.length)}: ${short(bars.rest.sum)}`}
        </span>
      </h2>
      <div ref={box}>
        {scene !== null && (
          <Picture
            scene={scene}
            label={say`The terms as bars. Arrow keys move, Enter follows an operand.`}
            tensor=""
            cell={[]}
            onChoose={(_, [row = 0, column = 0]) => {
              const factor = factorAt(row, column);
              if (factor?.name != null) go({ level: "number", tensor: factor.name, cell: factor.index });
            }}
          />
        )}
      </div>
    </section>
  );
}

/** At most so many terms stand in the table; it says how many are left out and what they come to. */
const LISTED = 64;

function Table({ found, called }: { found: Explanation; called: (term: Term) => string }): VNode {
  const { names } = useStore();
  const { sum: terms } = found;
  const shown = largestPlaces(terms.values, LISTED);
  const left = terms.length - shown.length;
  let running = 0;
  return (
    <details class="twin" open={terms.length <= 8}>
      <summary>{say`the terms as a table`}</summary>
      <Scroll label={say`the terms as a table`}>
        <table>
          <thead>
            <tr>
              <th>{say`term`}</th>
              <th>{say`made of`}</th>
              <th>{say`its value`}</th>
              <th>{say`sum so far`}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((place) => {
              const term = terms.at(place) as Term;
              running += term.value;
              return (
                <tr>
                  <th scope="row">{called(term)}</th>
                  <td>
                    {isFill(term) && say`masked: may look is `}
                    {term.factors.slice(0, isFill(term) ? 1 : undefined).map((factor, place) => (
                      <>
                        {place > 0 && (term.added === true ? " + " : " · ")}
                        {factor.name === null ? (
                          short(factor.value)
                        ) : (
                          <a
                            class={names.role(factor.name)}
                            href={factorLink(factor, names)}
                            data-operand={factor.name}
                            data-at={factor.index.join(",")}
                            data-value={String(factor.value)}
                          >
                            {short(factor.value)}
                          </a>
                        )}
                      </>
                    ))}
                  </td>
                  <td>{short(term.value)}</td>
                  <td>{short(running)}</td>
                </tr>
              );
            })}
            {left > 0 && (
              <tr>
                <th scope="row">{more(left, terms.length)}</th>
                <td />
                <td>{short(sumWithout(terms.values, shown))}</td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
      </Scroll>
    </details>
  );
}

/** What a term is called: a step of an axis by its word, else what the rule calls it. */
function termLabel(term: Term, found: Explanation, names: Names): string {
  const [axis = "", index] = term.what.split(" ");
  const step = Number(index);
  if (!Number.isInteger(step)) return heard(term.what);
  const factor = term.factors.find((each) => each.name !== null && names.axes(each.name).includes(axis));
  if (factor?.name == null) return heard(term.what);
  const sentence = found.cell["sentence"] ?? 0;
  const text = names.label(factor.name, axis, step, sentence).text;
  return text === String(step) ? `${spoken(axis)} ${text}` : text;
}
