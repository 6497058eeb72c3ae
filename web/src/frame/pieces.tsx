/** Small parts of views: a table with its names, and a choice among some things. */

import type { ComponentChildren, VNode } from "preact";

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
    <section class={`scroll ${kind}`} tabIndex={0} aria-label={label}>
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
    </section>
  );
}

/** The twin of a picture, folded, or another table that not everybody needs. */
export function Twin({
  summary = "the same as a table",
  ...table
}: Parameters<typeof Table>[0] & { readonly summary?: string }): VNode {
  return (
    <details class="twin">
      <summary>{summary}</summary>
      <Table {...table} />
    </details>
  );
}

/** A text in which a line may break between words, never within an option such as `--pair`. */
export function unbroken(text: string): ComponentChildren {
  return text.split(/(--[\w-]+)/).map((part, at) => (at % 2 === 1 ? <span class="option">{part}</span> : part));
}

/** A command as it is typed. */
export function Command({ text }: { readonly text: string }): VNode {
  return <code class="code">{unbroken(text)}</code>;
}

/** A sentence whose end may be a command. */
export function Told({ text }: { readonly text: string }): VNode {
  const [, says = text, command] = /^(.*?)(glassformer \w.*?)\.?$/s.exec(text) ?? [];
  return (
    <>
      {says}
      {command !== undefined && <Command text={command} />}
    </>
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
