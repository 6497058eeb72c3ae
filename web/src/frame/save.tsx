/** The button that opens what can be taken along. */

import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CHUNKS } from "../chunks/chunks.ts";
import { Awaited, viewIn } from "../chunks/later.tsx";
import { plain } from "../views/plain.ts";
import { say } from "../words/say.ts";

const Menu = viewIn(CHUNKS.saving, (chunk) => chunk.Menu);

export function Save(): VNode {
  const [open, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const shut = (): void => setOpen(false);
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      if (event.key === "s" && plain(event)) setOpen(true);
    };
    const outside = (event: PointerEvent): void => {
      if (event.target instanceof Node && whole.current?.contains(event.target) === false) shut();
    };
    addEventListener("keydown", pressed);
    addEventListener("pointerdown", outside);
    return () => {
      removeEventListener("keydown", pressed);
      removeEventListener("pointerdown", outside);
    };
  }, []);
  const key = (event: KeyboardEvent): void => {
    if (!open) return;
    const buttons = [...(whole.current?.querySelectorAll<HTMLElement>("li button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to !== undefined) buttons[(to + buttons.length) % buttons.length]?.focus();
    else if (event.key === "Escape") {
      shut();
      opener.current?.focus();
    } else return;
    // Escape and arrows mean something else to the page.
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its buttons are walked through by arrows
    <div class="save" ref={whole} onKeyDown={key} data-saving>
      <button type="button" ref={opener} aria-expanded={open} onClick={() => (open ? shut() : setOpen(true))}>
        {say`Save`}
      </button>
      {open && <Menu />}
      {open && CHUNKS.saving.here.value === null && (
        <section class="menu" aria-label={say`save`}>
          <Awaited chunk={CHUNKS.saving} />
        </section>
      )}
    </div>
  );
}
