/** A tensor as a box that can be turned to any sentence and any word. */

import { counted } from "../../../run/numbers.ts";
import { BESIDE, largeBoxScene } from "./box_scene.ts";
import { Sentences } from "./choices.tsx";
import type { Kind } from "./kind.ts";

export const box: Kind = {
  text: "as a box",
  fits: ({ tensor }) => tensor.shape.length > 1,
  draw(context) {
    const { sheet, cell, look, names } = context;
    const heads = sheet.size(sheet.layout.sheets);
    const some = sheet.layout.columns === "key" && heads > BESIDE;
    return {
      scene: largeBoxScene(sheet, cell, look, context, names.title(sheet.name)),
      above: (
        <>
          <Sentences {...context} />
          {some && (
            <p class="label">
              {BESIDE} of {counted(heads, "head")}, those around the one in hand
            </p>
          )}
        </>
      ),
    };
  },
};
