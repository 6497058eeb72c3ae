/** What the pictures of positions have in common: the encoding with its settings, what it says, its corrections. */

import type { ComponentChildren, VNode } from "preact";
import { state } from "../../../../address/state.ts";
import { range } from "../../../../numbers/arithmetic.ts";
import { short } from "../../../../numbers/written.ts";
import { heard, say } from "../../../../words/say.ts";
import { Choice, optionOf } from "../choices.tsx";
import { type Context, ruleOf } from "../kind.ts";
import { Operand } from "../worked.tsx";
import { type Encoding, encodingOf, LAYOUTS } from "./positions.ts";

/** The width of the well-known colour map. */
const WIDE = 512;

/** The model's own layout first. */
function layoutsOf({ sheet, names }: Context): (readonly [string, string])[] {
  const own = names.formulas.get(sheet.name)?.rule["layout"];
  const first = LAYOUTS.filter(([name]) => name === own).map(
    ([name, text]) => [name, say`${text} (this model)`] as const,
  );
  return [...first, ...LAYOUTS.filter(([name]) => name !== own)];
}

/** The encoding that the address asks for. */
export function encodingIn(context: Context): Encoding | null {
  const { sheet, store, sentence } = context;
  if (ruleOf(sheet) !== "sinusoid") return encodingOf(sheet, store, sentence);
  const layout = optionOf(layoutsOf(context).map(([name]) => name));
  const wide = state.value.options.includes("wide");
  return encodingOf(sheet, store, sentence, { layout, ...(wide ? { width: WIDE } : {}) });
}

/** The position and the channel in hand: those of the picture, else those of the cell. */
export function heldIn(encoding: Encoding, { sheet, cell }: Context): [number, number] {
  const [position, channel] = state.value.at;
  const last = encoding.width - 1;
  if (position !== undefined && channel !== undefined) return [position, Math.min(channel, last)];
  const token = cell[sheet.axes.indexOf("token")] ?? 0;
  const all = range(encoding.positions);
  return [all.find((at) => encoding.token(at) === token) ?? 0, Math.min(cell.at(-1) ?? 0, last)];
}

/** Which layout and how wide, and whose numbers these are: of a learned table there is nothing to choose. */
export function Settings({ context, encoding }: { context: Context; encoding: Encoding }): VNode {
  const { kind, own, width, positions } = encoding;
  if (kind === "learned")
    return (
      <p class="says plain">
        {say`Learned: a table with ${width} numbers for each position. Nothing makes near positions alike but training. The first ${positions} rows are drawn.`}
      </p>
    );
  const narrow = Number(context.names.formulas.get(context.sheet.name)?.rule["width"]);
  const widths = [["narrow", say`${narrow} (this model)`] as const, ["wide", String(WIDE)] as const];
  return (
    <>
      <div class="controls">
        <Choice label={say`layout`} offered={layoutsOf(context)} />
        {narrow !== WIDE && <Choice label={say`channels`} offered={widths} />}
      </div>
      <p class="says plain" data-own={own}>
        {own
          ? say`By a formula: each channel is a wave over the positions. The words of this text have these numbers; other positions get theirs from the same formula.`
          : say`The same formula with ${width} channels in this layout, not of this model: its numbers are worked out here.`}
      </p>
    </>
  );
}

/** One number of the encoding: the angle that it is the sine of, or the row that it is read from. */
export function OneNumber({ encoding, at }: { encoding: Encoding; at: readonly number[] }): VNode {
  const [position = 0, channel = 0] = at;
  const term = encoding.term(position, channel);
  const shown = encoding.factor(position, channel);
  const angle = term.factors.map(({ value }) => short(value, 5)).join(" · ");
  return (
    <p class="worked" aria-live="polite" data-worked={String(shown.value)}>
      {say`position ${position}, channel ${channel}: ${encoding.kind === "waves" && `${heard(term.what.split(" ")[0] ?? "")}(${angle}) = `}${(
        <b>
          <Operand factor={shown} />
        </b>
      )}`}
    </p>
  );
}

/** Two tables under one name: position 1 with four channels in both. */
export function TwoLayouts({ sheet, store, sentence }: Context): VNode | null {
  const [paper, other] = ["paper", "tensor2tensor"].map((layout) => {
    const encoding = encodingOf(sheet, store, sentence, { layout, width: 4 });
    if (encoding?.kind !== "waves") return null;
    return range(4, (channel) => short(encoding.at(1, channel), 4)).join("  ");
  });
  if (paper == null) return null;
  return (
    <Correction number="C-11">
      {say`Two tables go under one name. Position 1 with four channels is ${<b>{paper}</b>} by the guide's formula, and ${<b>{other}</b>} in the pictures after the lecture notes: tensor2tensor puts all sines before all cosines, and spaces its waves otherwise. That is two differences.`}
    </Correction>
  );
}

export function Correction({ number, children }: { number: string; children: ComponentChildren }): VNode {
  return (
    <aside class="correction" aria-label={say`correction ${number}`}>
      <p class="label">{say`Where a source document is imprecise (${number})`}</p>
      <p>{children}</p>
    </aside>
  );
}
