/** Channels of position vectors as curves over the positions. */

import { range } from "../../../../numbers/arithmetic.ts";
import { say } from "../../../../words/say.ts";
import type { Kind } from "../kind.ts";
import { encodingIn, heldIn, OneNumber, Settings, TwoLayouts } from "./encoding.tsx";
import { type Encoding, isEncoding, readFor } from "./positions.ts";
import { CURVES, type Strips, shownOf, stripsScene } from "./strips_scene.ts";

/** How many points of a wave are drawn from one position to the next. */
const FINE = 4;

export const waves: Kind = {
  text: say`as waves`,
  fits: isEncoding,
  reads: readFor,
  draw(context) {
    const encoding = encodingIn(context);
    if (encoding === null) return null;
    const at = heldIn(encoding, context);
    return {
      scene: stripsScene(wavesOf(encoding, at[0], at[1]), context.look, context.width),
      at,
      cellOf: ([position = 0, channel = 0]) => cellIn(encoding, position, channel),
      above: <Settings context={context} encoding={encoding} />,
      below: (
        <>
          <OneNumber encoding={encoding} at={at} />
          {encoding.width > CURVES && (
            <p class="label">{say`${CURVES} of ${encoding.width} channels, evenly spaced, with the one in hand`}</p>
          )}
          <TwoLayouts {...context} />
        </>
      ),
    };
  },
};

/** The cell of the run that a place of an encoding is. */
export function cellIn(
  encoding: Encoding,
  position: number,
  channel: number,
): { name: string; cell: readonly number[] } | null {
  const { name, index } = encoding.factor(position, channel);
  return name === null ? null : { name, cell: index };
}

function wavesOf(encoding: Encoding, position: number, channel: number): Strips {
  const { positions, kind } = encoding;
  const fine = kind === "waves" && positions <= 128 ? FINE : 1;
  const channels = shownOf(encoding.width, channel);
  const steps = range(positions);
  return {
    strips: channels.map((each) => ({
      label: say`channel ${each}`,
      held: each === channel,
      curve: range((positions - 1) * fine + 1, (at) => encoding.at(at / fine, each)),
      dots: steps.map((step) => (encoding.own && encoding.token(step) >= 0 ? encoding.at(step, each) : null)),
    })),
    steps: steps.map(String),
    fine,
    step: position,
    cell: (strip, step) => [step, channels[strip] ?? 0],
  };
}
