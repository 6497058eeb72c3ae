/** Where a tour begins: a button, and the tours that suit this run, each with what it shows. */

import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { useStore } from "../frame/hooks.ts";
import { state } from "../frame/state.ts";
import { intoSight } from "./sight.ts";
import { enter, goesOn } from "./tour.ts";
import { addressOf, placeIn, suiting } from "./tours.ts";

/** Starts the only tour or goes on where one was left; else offers those that suit this run. */
export function TourButton({ text }: { text: string }): VNode | null {
  const store = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  if (state.value.tour !== "") return null;
  const start = (): void => {
    const address = goesOn(suiting(store.names));
    if (address === null) dialog.current?.showModal();
    else void enter(store, address).then(() => intoSight());
  };
  return (
    <>
      <button type="button" class="tour-start" onClick={start}>
        {text}
      </button>
      <Offers dialog={dialog} />
    </>
  );
}

/** Within a tour: the others; nothing where there is no other. */
export function Choice({ text }: { text: string }): VNode | null {
  const { names } = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  const here = placeIn(state.value.tour).tour;
  if (suiting(names).every((tour) => tour === here)) return null;
  return (
    <>
      <button type="button" onClick={() => dialog.current?.showModal()}>
        {text}
      </button>
      <Offers dialog={dialog} />
    </>
  );
}

function Offers({ dialog }: { dialog: { readonly current: HTMLDialogElement | null } }): VNode {
  const store = useStore();
  const close = (): void => dialog.current?.close();
  return (
    <dialog
      ref={dialog}
      class="tours"
      aria-label="tours through this run"
      onKeyDown={(event) => event.stopPropagation()}
    >
      <p class="strong">Tours through this run</p>
      <ul>
        {suiting(store.names).map((tour) => (
          <li key={tour.name}>
            <button
              type="button"
              data-tour={tour.name}
              onClick={() => {
                close();
                void enter(store, addressOf(tour, 1)).then(() => intoSight());
              }}
            >
              <b>{tour.title}</b> <span>{tour.shows}</span>
            </button>
          </li>
        ))}
      </ul>
      <button type="button" onClick={close}>
        Close <kbd>Esc</kbd>
      </button>
    </dialog>
  );
}
