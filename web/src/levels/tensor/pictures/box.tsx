/** A tensor as a box that can be turned to any sentence and any word. */

import { RED, shades } from "../../../draw/shades.ts";
import { hasHidden } from "../../../draw/sheet.ts";
import { lastOf } from "../../../formulas/names.ts";
import { counted } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";
import { BESIDE, largeBoxScene } from "./box_scene.ts";
import { Sentences } from "./choices.tsx";
import type { Kind } from "./kind.ts";

export const box: Kind = {
  text: say`as a box`,
  fits: ({ tensor }) => tensor.shape.length > 1,
  draw(context) {
    const { sheet, cell, look, names } = context;
    const heads = sheet.size(sheet.layout.sheets);
    const some = sheet.layout.columns === "key" && heads > BESIDE;
    const scene = largeBoxScene(sheet, cell, look, context, names.title(sheet.name));
    return {
      scene,
      above: (
        <>
          <Sentences {...context} />
          {some && <p class="label">{say`${BESIDE} of ${counted(heads, "head")}, those around the one in hand`}</p>}
        </>
      ),
      below: (
        <p class="label">
          {lastOf(sheet.name) === "may_look"
            ? say`In full colour: 1, may be looked at. Pale, with a stroke: 0, may not.`
            : shades(scene.panels)}
          {hasHidden(sheet, context.sentence) && ` ${RED}`}
        </p>
      ),
    };
  },
};
