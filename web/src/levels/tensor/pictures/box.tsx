/** A tensor as a box that can be turned to any sentence and any word. */

import { SIGNED } from "../../../draw/draw_box.ts";
import type { Panel } from "../../../draw/scene.ts";
import { lastOf } from "../../../run/names.ts";
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
    const scene = largeBoxScene(sheet, cell, look, context, names.title(sheet.name));
    return {
      scene,
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
      below: (
        <p class="label">
          {lastOf(sheet.name) === "may_look"
            ? "In full colour: 1, may be looked at. Pale, with a stroke: 0, may not."
            : `The stronger a cell’s colour, the further its number is from 0${signsOf(scene.panels[0], sheet.name)}.`}
        </p>
      ),
    };
  },
};

/** How numbers below 0 are told from those above; nothing where there can be none. */
function signsOf(panel: Panel | undefined, name: string): string {
  if (panel === undefined || ["weights", "probabilities"].includes(lastOf(name))) return "";
  const side = Math.min(panel.w / panel.columns, panel.h / panel.rows);
  return side >= SIGNED ? "; –: below 0" : "; point at it for its sign";
}
