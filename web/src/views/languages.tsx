/** In which language the page is, and which others it has. */

import type { VNode } from "preact";
import { link } from "../address/state.ts";
import { hasLanguage, KEPT, LANGUAGE, LANGUAGES, say } from "../words/say.ts";

/** Another language begins the page again where it is; a page that has one alone offers none. */
export function Languages(): VNode | null {
  const offered = Object.entries(LANGUAGES).filter(([name]) => hasLanguage(name));
  if (offered.length < 2) return null;
  const choose = (language: string): void => {
    try {
      localStorage.setItem(KEPT, language);
    } catch {
      // A browser may keep nothing for a page from disk or in a frame: the address has it.
    }
    location.hash = link({ language });
  };
  return (
    <select aria-label={say`language`} value={LANGUAGE} onChange={({ currentTarget }) => choose(currentTarget.value)}>
      {offered.map(([name, [text]]) => (
        <option value={name} lang={name}>
          {text}
        </option>
      ))}
    </select>
  );
}
