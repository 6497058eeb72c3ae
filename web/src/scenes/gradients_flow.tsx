/** The size of the gradient of the loss for each word in each part, and for the weights of the part. */

import type { VNode } from "preact";
import { toNumber } from "../address/links.ts";
import { link, state } from "../address/state.ts";
import { MissingTensor } from "../formulas/evaluator.ts";
import { counted, short } from "../numbers/written.ts";
import type { Side } from "../record/record.ts";
import type { Scout } from "../scout/scout.ts";
import { usePalette } from "../views/hooks.ts";
import { say } from "../words/say.ts";

/** As `glassformer/page/sections/gradients.py` writes it. */
export interface Gradients {
  readonly loss: number;
  readonly right: "given" | "next" | "guess";
  readonly labels: readonly (readonly [number, number, number])[];
  readonly rows: readonly { readonly name: string; readonly unit: string; readonly norms: readonly number[][] }[];
  readonly weights: Readonly<Record<string, number>>;
}

const RIGHT: Readonly<Record<Gradients["right"], string>> = {
  given: say`The right words were given with the run.`,
  next: say`Right is the next word of the text.`,
  guess: say`Nobody said which word is right: the model’s own best guess is taken as right, so the loss is small.`,
};

export function Flow({ s, found }: { s: Scout; found: Gradients }): VNode {
  const { names, sentence } = s;
  const every = state.value.options.includes("every");
  const seen = new Set<string>();
  // Of each part what it gives to the next one; or all.
  const rows = found.rows.filter(({ unit }) => every || (!seen.has(unit) && seen.add(unit)));
  const sides = (["decoder_inputs", "inputs"] as const).filter((side) =>
    rows.some(({ name }) => sideOf(name, s) === side),
  );
  const most = Math.max(...rows.flatMap(({ norms }) => norms.flat()));
  const told = found.labels.filter(([row]) => row === sentence);
  return (
    <div class="flow">
      <p class="small-answer">
        {say`loss ${<b class="hidden">{short(found.loss)}</b>} over ${counted(found.labels.length, "right word")}`}
      </p>
      <p class="quiet">
        {RIGHT[found.right]}{" "}
        {told.slice(0, 12).map(([, token, id], place) => (
          <span key={token}>
            {place > 0 && ", "}
            {names.word(labelled(s), sentence, token).text} →{" "}
            <b>{names.label("head.logits", "vocabulary", id, sentence).text}</b>
          </span>
        ))}
      </p>
      <p class="quiet">
        {say`Read downwards, from the loss back to the words. A large number: a small step of this vector would change the loss much. ${<a href={link({ options: every ? [] : ["every"] })}>{every ? say`Only what each part gives` : say`Every vector of each part`}</a>}`}
      </p>
      {sides.map((side) => (
        <Table
          key={side}
          s={s}
          side={side}
          most={most}
          found={found}
          rows={rows.filter(({ name }) => sideOf(name, s) === side)}
        />
      ))}
    </div>
  );
}

function Table(props: { s: Scout; side: Side; most: number; found: Gradients; rows: Gradients["rows"] }): VNode {
  const { s, side, most, found, rows } = props;
  const { names, sentence } = s;
  const palette = usePalette();
  const words = names.run.words[side][sentence] ?? rows[0]?.norms[sentence] ?? [];
  const whole = Math.max(...Object.values(found.weights));
  let last = "";
  return (
    <section
      class="scroll"
      tabIndex={0}
      aria-label={side === "inputs" ? say`gradients of the text` : say`gradients of the target`}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">{say`gradient of`}</th>
            {words.map((_, token) => (
              <th scope="col" key={token} class={names.word(side, sentence, token).hidden ? "hidden" : ""}>
                {names.word(side, sentence, token).text}
              </th>
            ))}
            <th scope="col">{say`all weights of the part`}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, unit, norms }) => {
            const first = unit !== last;
            last = unit;
            const weight = found.weights[unit];
            return (
              <tr key={name}>
                <th scope="row">
                  <a href={link({ level: "tensor", tensor: name, cell: cellOf(name, s), scene: "", options: [] })}>
                    {first ? names.unit(unit) : ""}{" "}
                    {(!first || names.unit(unit) !== names.title(name)) && <small>{names.title(name)}</small>}
                  </a>
                </th>
                {words.map((_, token) => {
                  const norm = (norms[sentence] ?? norms[0])?.[token] ?? 0;
                  // Half the strength at most: the numbers can be read on it in every theme.
                  const strength = most === 0 ? 0 : (norm / most) ** 0.5 / 2;
                  return (
                    <td key={token} style={{ background: palette.cell("residual", strength) }}>
                      <a
                        href={toNumber(name, cellOf(name, s, token), names)}
                        style={{ color: palette.on("residual", strength) }}
                      >
                        {short(norm)}
                      </a>
                    </td>
                  );
                })}
                <td class="bar">
                  {first && weight !== undefined && (
                    <>
                      {short(weight)} <i style={{ width: `${whole === 0 ? 0 : (weight / whole) * 100}%` }} />
                    </>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

/** The place of a token in a tensor; none in one that the page does not carry. */
function cellOf(name: string, s: Scout, token = s.example.query): number[] {
  try {
    return s.cell(name, { token });
  } catch (error) {
    if (error instanceof MissingTensor) return [];
    throw error;
  }
}

function sideOf(name: string, s: Scout): Side {
  return s.formula(name)?.tokens ?? "inputs";
}

function labelled(s: Scout): Side {
  return s.formula("head.logits")?.tokens ?? s.side;
}
