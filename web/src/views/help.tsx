/** The keys of the page. */

import type { VNode } from "preact";
import { say } from "../words/say.ts";

export function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }): VNode {
  const keys = [
    ["Tab", say`to the picture, and to every link`],
    ["← ↑ → ↓", say`the next cell`],
    [say`Page Up, Page Down`, say`the tensor before and after`],
    ["Enter", say`open the number`],
    ["[ ]", say`the head before and after`],
    ["{ }", say`the same head of the block before and after`],
    ["0 … 9", say`a head's lines next to those of the head in hand`],
    ["t", say`the tensor of the number in hand`],
    ["s", say`save the picture, the numbers, the page`],
    ["Escape", say`one level up`],
    ["f, F", say`forbid or allow this look, in its head or in all`],
    ["h", say`switch the head off or on`],
    ["l, L", say`switch the sublayer, the block off or on`],
    ["c", say`take the number in hand along`],
    ["v, V", say`put it, or its row, in the place of the one in hand`],
    ["u", say`undo the last change`],
    ["Alt ←", say`back`],
    [say`Space, ← →`, say`in a training: play, the step before and after`],
    ["n, p", say`in the tour: the next step, the one before`],
    ["a, q", say`in the tour: the answer; leave`],
    ["P", say`in the tour: present it, in large type with notes`],
    [say`← →, Space, Page Up, Page Down`, say`while it is presented: the step before and after`],
    [say`o, Escape`, say`while it is presented: the notes away or back; leave the presentation`],
  ];
  return (
    <dialog ref={dialog} aria-label={say`keys`}>
      <p class="strong">{say`Keys`}</p>
      {/* Above the list: an open dialog shows what has the focus. */}
      <form method="dialog">
        <button type="submit" class="strong">
          {say`Close`}
        </button>
      </form>
      <dl>
        {keys.map(([key, does]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </>
        ))}
      </dl>
    </dialog>
  );
}
