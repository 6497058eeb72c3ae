/** Where the source documents are imprecise, next to what it is about; folded, for the page shows a run and not them. */

import type { VNode } from "preact";
import type { Correction } from "../record/record.ts";
import { heard, say } from "../words/say.ts";
import { useStore } from "./hooks.ts";

const KIND = /^(task|family|stacks)\./;

/** The corrections about these tensors, or about models of this kind; nothing where there is none. */
export function Corrections({ of, tensors }: { of: string; tensors?: readonly string[] }): VNode | null {
  const { run } = useStore().names;
  const fits = (place: string): boolean =>
    tensors === undefined ? KIND.test(place) : tensors.some((name) => `.${name}`.endsWith(`.${place}`));
  const found = (run.corrections ?? []).filter(({ about }: Correction) => about.some(fits));
  if (found.length === 0) return null;
  return (
    <details class="part corrections">
      <summary>{say`Where tutorials are imprecise about ${of}: ${found.length}`}</summary>
      {found.map(({ number, said_by, sentence }) => (
        <p key={number}>
          <b>{number}</b> <span class="quiet">({heard(said_by)})</span> {heard(sentence)}
        </p>
      ))}
    </details>
  );
}
