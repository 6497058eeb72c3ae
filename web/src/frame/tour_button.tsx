/** The button with which a tour begins. The tours are fetched for it where they are not here yet. */

import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { state } from "../address/state.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { Awaited, viewIn } from "../chunks/later.tsx";
import { useStore } from "../views/hooks.ts";

const Offers = viewIn(CHUNKS.tours, (chunk) => chunk.Offers);

/** Starts the only tour or goes on where one was left; else offers those that suit this run. */
export function TourButton({ text }: { text: string }): VNode | null {
  const store = useStore();
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState(false);
  if (state.value.tour !== "") return null;
  const start = async (): Promise<void> => {
    setAsked(true);
    const { enter, goesOn, intoSight, suiting } = await CHUNKS.tours.load();
    const address = goesOn(suiting(store.names));
    if (address === null) setOpen(true);
    else await enter(store, address).then(() => intoSight());
  };
  return (
    <>
      <button type="button" class="tour-start" onClick={() => void start().catch(() => null)}>
        {text}
      </button>
      {open && <Offers open onClose={() => setOpen(false)} />}
      {asked && CHUNKS.tours.wrong.value !== "" && <Awaited chunk={CHUNKS.tours} />}
    </>
  );
}
