/** How far positions are from each other: every pair as a field of colours. */

import { state } from "../../../../address/state.ts";
import { range } from "../../../../numbers/arithmetic.ts";
import { say } from "../../../../words/say.ts";
import { Choice, optionOf } from "../choices.tsx";
import type { Context, Kind } from "../kind.ts";
import { Worked } from "../worked.tsx";
import { Correction, encodingIn, heldIn, Settings } from "./encoding.tsx";
import { fieldScene } from "./field_scene.ts";
import { compared, type Encoding, firstFall, isEncoding, MEASURES, type Measure, readFor } from "./positions.ts";

/** At most so many positions are compared with each other. */
const COMPARED = 128;

/** How a measure is made of its terms. */
const HOW: Readonly<Record<Measure, string>> = {
  distance: say`the root of the sum of the squared differences`,
  product: say`the sum of the products`,
  cosine: say`the sum of the products, divided by both lengths`,
};

export const distances: Kind = {
  text: say`as distances`,
  fits: isEncoding,
  reads: readFor,
  draw(context) {
    const encoding = encodingIn(context);
    if (encoding === null) return null;
    const measure = optionOf(MEASURES.map(([name]) => name)) as Measure;
    const count = Math.min(encoding.positions, COMPARED);
    const [first, second] = state.value.at;
    const one = Math.min(first ?? heldIn(encoding, context)[0], count - 1);
    const two = Math.min(second ?? one + 1, count - 1);
    const field = {
      ...{ rows: count, columns: count, row: String, column: String },
      ...{ down: say`positions`, along: say`positions` },
      value: (row: number, column: number) => compared(encoding, row, column, measure),
    };
    const terms = range(encoding.width, (channel) => {
      const [a, b] = [encoding.factor(one, channel), encoding.factor(two, channel)];
      const value = measure === "distance" ? (a.value - b.value) ** 2 : a.value * b.value;
      return { what: say`channel ${channel}`, factors: [a, b], value };
    });
    const value = compared(encoding, one, two, measure);
    return {
      scene: fieldScene(field, context.look, context.width, context.height),
      at: [one, two],
      beside: true,
      above: (
        <>
          <Settings context={context} encoding={encoding} />
          <div class="controls">
            <Choice label={say`what is compared`} offered={MEASURES} />
          </div>
        </>
      ),
      below: (
        <>
          <Worked title={say`positions ${one} and ${two}:`} value={value} terms={terms} how={HOW[measure]} />
          <Growth context={context} encoding={encoding} />
        </>
      ),
    };
  },
};

/** What the source documents say about distances, and what is right for these numbers. */
function Growth({ context, encoding }: { context: Context; encoding: Encoding }) {
  const { sheet, store, sentence } = context;
  const fall = firstFall(encoding, 0);
  const sum = store.fetch(sheet.name.replace(/\.position$/, ".sum"));
  const [, tokens = 0, width = 0] = sum?.shape ?? [];
  const at = (token: number, channel: number): number => sum?.data[(sentence * tokens + token) * width + channel] ?? 0;
  const far = (one: number, two: number): number => compared({ at, width }, one, two, "distance");
  const looked = range(Math.max(tokens - 2, 0));
  const farther = looked.filter((token) => far(token, token + 1) > far(token, token + 2)).length;
  return (
    <Correction number="C-10">
      {say`The lecture notes say that the distance of two positions always grows with their offset. ${
        encoding.kind === "waves"
          ? say`It depends on the offset alone: each diagonal has one colour. `
          : say`These are learned: nothing makes it depend on the offset alone. `
      }${
        fall === null
          ? say`From position 0 it grows throughout, as far as this goes.`
          : say`From position 0 it falls for the first time from offset ${fall - 1} to ${fall}.`
      }`}
      {looked.length > 0 &&
        farther > 0 &&
        say`With the words added, ${farther} of ${looked.length} words of this text are farther from their neighbour than from the word after it.`}
      {looked.length > 0 &&
        farther === 0 &&
        say`With the words added, each word of this text is still nearer to its neighbour; nothing makes that so.`}
    </Correction>
  );
}
