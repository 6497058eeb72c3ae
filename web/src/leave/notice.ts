/** What the page says to a browser without scripts, which a page that is saved says again. */

let notice: readonly Node[] = [];

/** Keeps what the page says to a browser without scripts, before the views take its place. */
export function keepNotice(root: HTMLElement): void {
  notice = [...root.childNodes];
}

export function withoutScript(): Node[] {
  return notice.map((node) => node.cloneNode(true));
}
