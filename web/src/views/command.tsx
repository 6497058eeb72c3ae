/** Commands as they are typed. */

import type { ComponentChildren, VNode } from "preact";

/** A text in which a line may break between words, never within an option such as `--pair`. */
export function unbroken(text: string): ComponentChildren {
  return text.split(/(--[\w-]+)/).map((part, at) => (at % 2 === 1 ? <span class="option">{part}</span> : part));
}

/** A command as it is typed. */
export function Command({ text }: { readonly text: string }): VNode {
  return <code class="code">{unbroken(text)}</code>;
}
