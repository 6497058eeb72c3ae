/** Words of a text as they are written on the page, whatever letters they have. */

/**
 * What stands in a text and draws nothing, or changes how what follows is drawn: control and format characters, separators,
 * halves of a pair. The joiners of Persian and the number signs of Arabic stay.
 */
const MARKS = /(?!\u200c|\u200d|[\u0600-\u0605\u06dd\u08e2])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Letters that are written from the right. */
const FROM_THE_RIGHT =
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}\p{Script=Samaritan}]/u;

const [ISOLATE, END] = ["\u2068", "\u2069"];

/**
 * A word as it is drawn: marks by their names (`<U+202E>`), and a word from the right kept to itself, so that it does not
 * turn round what is next to it: an arrow between two such words would point the wrong way.
 */
export function written(word: string): string {
  const named = word.replace(
    MARKS,
    (mark) => `<U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );
  return FROM_THE_RIGHT.test(named) ? `${ISOLATE}${named}${END}` : named;
}

/** A written word without its end, between two letters; what keeps it to itself stays. */
export function shortened(text: string, letters: number): string {
  const isolated = text.startsWith(ISOLATE);
  const inside = [...(isolated ? text.slice(1, -1) : text)].slice(0, letters).join("");
  return isolated ? `${ISOLATE}${inside}…${END}` : `${inside}…`;
}
