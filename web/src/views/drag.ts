/** Dragging one cell of a picture onto another. With a finger a picture is scrolled: there the keys and buttons do the same. */

import { signal } from "@preact/signals";
import { useRef, useState } from "preact/hooks";

/** Whether something is being dragged: the foot of the page says what can be done with it. */
export const dragging = signal(false);

/** So far the mouse moves before a click becomes a drag. */
const FAR = 5;

export interface Drag<Place> {
  readonly from: Place;
  readonly over: Place | null;
}

export interface Dragged<Place> {
  readonly drag: Drag<Place> | null;
  /** The button went down over the canvas. */
  down(event: MouseEvent): void;
  /** Whether a click is the end of a drag, which is no click. */
  ended(): boolean;
}

/** `under`: the place at a point of the canvas; `onDrop` gets whether Shift was held. */
export function useDrag<Place>(
  under: (event: MouseEvent) => Place | null,
  onDrop: ((from: Place, to: Place, shift: boolean) => void) | undefined,
): Dragged<Place> {
  const [drag, setDrag] = useState<Drag<Place> | null>(null);
  const wasDrag = useRef(false);
  const down = (start: MouseEvent): void => {
    wasDrag.current = false;
    const from = start.button === 0 && onDrop !== undefined ? under(start) : null;
    if (from === null) return;
    const canvas = start.currentTarget;
    const place = (event: MouseEvent): Place | null => (event.target === canvas ? under(event) : null);
    const move = (event: MouseEvent): void => {
      if (!dragging.value && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < FAR) return;
      dragging.value = true;
      setDrag({ from, over: place(event) });
    };
    const end = (event: Event): void => {
      for (const kind of ["mousemove", "mouseup", "keydown", "blur"])
        removeEventListener(kind, listeners[kind] ?? end, true);
      if (!dragging.value) return;
      dragging.value = false;
      wasDrag.current = true;
      setDrag(null);
      const to = event instanceof MouseEvent ? place(event) : null;
      if (to !== null && event instanceof MouseEvent) onDrop?.(from, to, event.shiftKey);
    };
    const given = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || !dragging.value) return;
      event.preventDefault();
      end(event);
    };
    const listeners: Record<string, EventListener> = {
      mousemove: move as EventListener,
      mouseup: end,
      keydown: given as EventListener,
      // Of the window alone: pressing the button takes the focus from what had it.
      blur: (event) => {
        if (event.target === window) end(event);
      },
    };
    // Before the page hears of them: Escape leads one level up.
    for (const [kind, listener] of Object.entries(listeners)) addEventListener(kind, listener, true);
  };
  const ended = (): boolean => {
    const was = wasDrag.current;
    wasDrag.current = false;
    return was;
  };
  return { drag, down, ended };
}
