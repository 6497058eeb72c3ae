/** A part of the rail that folds. The browser keeps which are folded; where it keeps nothing, the page does while it is open. */

import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";

const own = new Map<string, string>();

/** What is kept, or is kept from now on, under a name; a browser may have no storage, or refuse it to a page of a file. */
function kept(name: string, value?: string): string | null {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    if (value !== undefined) own.set(name, value);
    return own.get(name) ?? null;
  }
}

interface GroupProps {
  readonly title: string;
  readonly hidden?: boolean;
  /** Where nobody has folded or opened it yet. */
  readonly folded?: boolean;
  /** It has links to other views. */
  readonly nav?: boolean;
  readonly children: ComponentChildren;
}

export function Group({ title, hidden = false, folded = false, nav = false, children }: GroupProps): VNode {
  const name = `glassformer folded ${title}`;
  const [open, setOpen] = useState(() => (kept(name) ?? (folded ? "yes" : "")) !== "yes");
  return (
    <details
      class="part group"
      hidden={hidden}
      open={open}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open === open) return;
        setOpen(currentTarget.open);
        kept(name, currentTarget.open ? "" : "yes");
      }}
    >
      <summary class="label">{title}</summary>
      {nav ? <nav aria-label={title}>{children}</nav> : children}
    </details>
  );
}
