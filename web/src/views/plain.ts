/** Whether a key is the page's: alone, not of a text that is written, of no dialog. */
export function plain(event: KeyboardEvent): boolean {
  return !(
    event.defaultPrevented ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    (event.target as Element).closest?.("textarea,select,dialog,[type=text],[type=number]")
  );
}
