/** The keys of the page. */

import type { VNode } from "preact";

export function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }): VNode {
  const keys = [
    ["Tab", "to the picture, and to every link"],
    ["← ↑ → ↓", "the next cell"],
    ["Page Up, Page Down", "the tensor before and after"],
    ["Enter", "open the number"],
    ["[ ]", "the head before and after"],
    ["{ }", "the same head of the block before and after"],
    ["0 … 9", "a head's lines next to those of the head in hand"],
    ["t", "the tensor of the number in hand"],
    ["s", "save the picture, the numbers, the page"],
    ["Escape", "one level up"],
    ["f, F", "forbid or allow this look, in its head or in all"],
    ["h", "switch the head off or on"],
    ["l, L", "switch the sublayer, the block off or on"],
    ["c", "take the number in hand along"],
    ["v, V", "put it, or its row, in the place of the one in hand"],
    ["u", "undo the last change"],
    ["Alt ←", "back"],
    ["Space, ← →", "in a training: play, the step before and after"],
    ["n, p", "in the tour: the next step, the one before"],
    ["a, q", "in the tour: the answer; leave"],
    ["P", "in the tour: present it, in large type with notes"],
    ["← →, Space, Page Up, Page Down", "while it is presented: the step before and after"],
    ["o, Escape", "while it is presented: the notes away or back; leave the presentation"],
  ];
  return (
    <dialog ref={dialog} aria-label="keys">
      <p class="strong">Keys</p>
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
      <form method="dialog">
        <button type="submit" class="strong">
          Close
        </button>
      </form>
    </dialog>
  );
}
