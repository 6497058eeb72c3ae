/** The views of a chunk: nothing until it is here, and a sentence where it cannot be had. */

import { type FunctionComponent, h, type VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { say } from "../words/say.ts";
import type { Chunk } from "./chunk.ts";

/** A view of a chunk; whoever shows it shows `Awaited` next to it. */
export function viewIn<Module, Props extends object>(
  chunk: Chunk<Module>,
  viewOf: (module: Module) => FunctionComponent<Props>,
): FunctionComponent<Props> {
  return (props) => {
    const module = chunk.here.value;
    return module === null ? null : h(viewOf(module), props);
  };
}

/**
 * Has a chunk fetched; says so if that takes long, and if it fails why, and what to do. Nothing once it is here. `lacks`:
 * why this run has nothing to show there; an exported page does not carry the chunk then.
 */
export function Awaited({ chunk, lacks = "" }: { chunk: Chunk<unknown>; lacks?: string }): VNode | null {
  const [here, wrong] = [chunk.here.value, chunk.wrong.value];
  const [told, setTold] = useState("");
  useEffect(() => {
    // What another part of the page has reported is not tried again: it would take that report away while it is read.
    if (chunk.wrong.value === "") void chunk.load().catch(() => null);
  }, [chunk]);
  if (here !== null) return null;
  if (wrong === "") return <p class="quiet awaited">{say`This part of the page is being fetched …`}</p>;
  if (lacks !== "") {
    return (
      <>
        <h1 class="big">{say`Nothing to see here`}</h1>
        <p class="says plain">{say`This page has one run, and what would draw this is not in it: ${lacks}.`}</p>
      </>
    );
  }
  // A browser remembers that a file did not come: the page has to be opened again, once there is somebody to send it.
  const again = (): void => {
    setTold("");
    fetch("script/chunks.css").then(
      () => location.reload(),
      () => setTold(say`The server does not answer: if it has ended, start glassformer explore again.`),
    );
  };
  return (
    <div role="alert">
      <p class="wrong">
        {say`This part of the page could not be fetched from its server (${wrong}). What is in hand and what was changed are in the address: they are there again when the page is.`}
      </p>
      <button type="button" class="undo" onClick={again}>
        {say`Open the page again`}
      </button>{" "}
      {told}
    </div>
  );
}
