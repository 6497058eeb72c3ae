/** All channels of all positions at once, as colours: the well-known picture of 512 channels. */

import { say } from "../../../../words/say.ts";
import type { Kind } from "../kind.ts";
import { encodingIn, heldIn, OneNumber, Settings, TwoLayouts } from "./encoding.tsx";
import { fieldScene } from "./field_scene.ts";
import { isEncoding, readFor } from "./positions.ts";
import { cellIn } from "./waves.tsx";

export const map: Kind = {
  text: say`as a colour map`,
  fits: isEncoding,
  reads: readFor,
  draw(context) {
    const encoding = encodingIn(context);
    if (encoding === null) return null;
    const { positions, width, at } = encoding;
    const field = { rows: positions, columns: width, row: String, column: String, value: at };
    const held = heldIn(encoding, context);
    return {
      scene: fieldScene(
        { ...field, down: say`positions`, along: say`channels` },
        context.look,
        context.width,
        context.height,
      ),
      at: held,
      cellOf: ([position = 0, channel = 0]) => cellIn(encoding, position, channel),
      above: <Settings context={context} encoding={encoding} />,
      below: (
        <>
          <OneNumber encoding={encoding} at={held} />
          <TwoLayouts {...context} />
        </>
      ),
    };
  },
};
