/** Small parts of views: a table with its names, and a choice among some things. */

import type { ComponentChildren, VNode } from "preact";
import { say } from "../words/say.ts";

/** While something is fetched or worked out. It appears after a moment, so that what is quick does not flash. */
export function Working({ on }: { on: string }): VNode {
  return (
    <p class="quiet working" role="status">
      {on} …
    </p>
  );
}

export interface Line {
  /** What the rows is called, and what the cells say. */
  readonly cells: readonly ComponentChildren[];
  readonly data?: Readonly<Record<`data-${string}`, string | number | undefined>>;
}

/** A table that scrolls within itself; the first cell of each row is its name. */
export function Table(props: {
  readonly label: string;
  readonly head: readonly ComponentChildren[];
  readonly rows: readonly Line[];
  readonly kind?: string;
}): VNode {
  const { label, head, rows, kind = "" } = props;
  return (
    <Scroll label={label} kind={kind}>
      <table>
        <thead>
          <tr>
            {head.map((name, place) => (
              <th key={place}>{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ cells: [name, ...cells], data }, row) => (
            <tr key={row} {...data}>
              <th scope="row">{name}</th>
              {cells.map((cell, place) => (
                <td key={place}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** What scrolls within itself, by the keyboard too. */
export function Scroll(props: {
  readonly label: string;
  readonly kind?: string;
  readonly children: ComponentChildren;
}): VNode {
  const { label, kind = "", children } = props;
  return (
    <section class={`scroll ${kind}`} tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

/** A part of what is next to the picture, under its name. */
export function Labelled({ label, children }: { label: ComponentChildren; children: ComponentChildren }): VNode {
  return (
    <div class="part">
      <p class="label">{label}</p>
      {children}
    </div>
  );
}

/** The twin of a picture, folded, or another table that not everybody needs. */
export function Twin({
  summary = say`the same as a table`,
  ...table
}: Parameters<typeof Table>[0] & { readonly summary?: string }): VNode {
  return (
    <details class="twin">
      <summary>{summary}</summary>
      <Table {...table} />
    </details>
  );
}

export type Option = readonly [value: string | number, text: string];

export function Choice(props: {
  readonly label: string;
  readonly value: string | number;
  readonly of: readonly Option[];
  onChoose(value: string): void;
}): VNode {
  const { label, value, of, onChoose } = props;
  return (
    <label>
      {label}
      <select value={String(value)} onChange={(event) => onChoose(event.currentTarget.value)}>
        {of.map(([each, text]) => (
          <option value={String(each)} key={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
