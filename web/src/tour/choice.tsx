/** The tours that suit this run, each with what it shows. */

import type { VNode } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { link, state } from "../address/state.ts";
import { useStore } from "../views/hooks.ts";
import { say } from "../words/say.ts";
import { intoSight } from "./sight.ts";
import { enter } from "./tour.ts";
import { addressOf, placeIn, suiting } from "./tours.ts";

/** Within a tour: the others; nothing where there is no other. */
export function Choice({ text }: { text: string }): VNode | null {
  const { names } = useStore();
  const [open, setOpen] = useState(false);
  const here = placeIn(state.value.tour).tour;
  if (suiting(names).every((tour) => tour === here)) return null;
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {text}
      </button>
      <Offers open={open} onClose={() => setOpen(false)} />
    </>
  );
}

export function Offers({ open, onClose }: { open: boolean; onClose: () => void }): VNode {
  const store = useStore();
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  // The slides' model is there for the slides' tour.
  const first = store.names.run.model.family === "slides";
  const close = (): void => {
    dialog.current?.close();
    onClose();
  };
  return (
    <dialog
      ref={dialog}
      class="tours"
      aria-label={say`tours through this run`}
      onClose={onClose}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <p class="strong">{say`Tours through this run`}</p>
      {[first, !first].map((document, group) => {
        const tours = suiting(store.names).filter(({ follows }) => (follows !== "") === document);
        if (tours.length === 0) return null;
        return (
          <>
            <p class="label">{document ? say`In the order of a tutorial` : say`By subject`}</p>
            <ul>
              {tours.map((tour, place) => (
                <li key={tour.name}>
                  <button
                    type="button"
                    data-tour={tour.name}
                    onClick={() => {
                      close();
                      void enter(store, addressOf(tour, 1)).then(() => intoSight());
                    }}
                  >
                    <b>{group + place === 0 ? say`Start here: ${tour.title}` : tour.title}</b> <span>{tour.shows}</span>
                  </button>
                </li>
              ))}
            </ul>
          </>
        );
      })}
      <p>
        <a href={link({ level: "quiz", tour: "", options: [], at: [] })} onClick={close}>
          {say`Quiz: ten questions, before and after`}
        </a>
      </p>
      <button type="button" onClick={close}>
        {say`Close ${<kbd>{say`Esc`}</kbd>}`}
      </button>
    </dialog>
  );
}
