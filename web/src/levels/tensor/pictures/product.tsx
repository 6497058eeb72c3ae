/** Where a tensor comes from: each head's product of two tensors, with the head as the fourth dimension. */

import { RED, shades } from "../../../draw/shades.ts";
import { hasHidden, type Sheet } from "../../../draw/sheet.ts";
import { counted } from "../../../numbers/written.ts";
import { say } from "../../../words/say.ts";
import { Sentences } from "./choices.tsx";
import { type Kind, ruleOf } from "./kind.ts";
import { multiplied, productOf, productScene } from "./product_scene.ts";

export const product: Kind = {
  text: say`as a product`,
  fits: (sheet) => ["dot_product", "weighted_sum"].includes(ruleOf(sheet)) && sheet.axes.includes("head"),
  reads: (sheet) => (multiplied(sheet) ?? []).map(({ name }) => name),
  draw(context) {
    const { sheet, cell, look, store } = context;
    const found = productOf(sheet, store.fetch);
    if (found === null) return null;
    const heads = sheet.size("head");
    const sizes = (of: Sheet): string => [sheet.size("sentence"), heads, of.rows, of.columns].join(" × ");
    const { left, right, made } = found;
    const scene = productScene(found, sheet, cell, look, context);
    return {
      scene,
      below: (
        <p class="label">
          {shades(scene.panels)}
          {hasHidden(sheet, context.sentence) && ` ${RED}`}
        </p>
      ),
      above: (
        <>
          <Sentences {...context} />
          <p class="says plain">
            {say`${counted(heads, "head")}, ${counted(heads, "product")} at once, in four dimensions (sentences × heads × rows × columns): ${<b class={left.role}>{sizes(left)}</b>} · ${<b class={right.role}>{sizes(right)}</b>} = ${<b class={made.role}>{sizes(made)}</b>}. The framed row and column meet in the number in hand.`}
          </p>
        </>
      ),
    };
  },
};
