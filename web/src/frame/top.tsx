/** Above: where this is, as links, and the colours of the page. */

import type { VNode } from "preact";
import { go, inPicture, later, link, type Theme } from "../address/state.ts";
import { CHUNKS } from "../chunks/chunks.ts";
import { viewIn } from "../chunks/later.tsx";
import { useStore } from "../views/hooks.ts";
import { say } from "../words/say.ts";
import { LEVELS, ORDER } from "./levels.ts";
import { Save } from "./save.tsx";
import { TourButton } from "./tour_button.tsx";

const Languages = viewIn(CHUNKS.saving, (chunk) => chunk.Languages);

export function Top({ onHelp }: { onHelp: () => void }): VNode {
  const { names } = useStore();
  const { level } = later.value;
  // What is not on the path is named alone.
  const above = ORDER.includes(level) ? ORDER.slice(0, ORDER.indexOf(level) + 1) : [level];
  const within = above.filter((each) => each === level || each === "model" || inPicture.value);
  const path = within.map((each) => LEVELS[each].crumb(later.value, names));
  const crumbs = [
    { text: names.run.title, href: link({ level: "model", layout: [] }) },
    ...path.filter((crumb) => crumb !== null),
  ];
  return (
    <header class="top">
      <a class="brand" href={link({ level: "model", layout: [] })}>
        {say`glassformer`}
      </a>
      <nav aria-label={say`where this is`}>
        <ol class="crumbs">
          {crumbs.map(({ text, href }, place) => (
            <li key={href}>
              {place === crumbs.length - 1 ? <span aria-current="page">{text}</span> : <a href={href}>{text}</a>}
            </li>
          ))}
        </ol>
      </nav>
      <div class="tools">
        <TourButton text={say`Tour`} />
        <Save />
        <Themes />
        <Languages />
        <button type="button" onClick={onHelp} aria-label={say`the keys of this page`}>
          ?
        </button>
      </div>
    </header>
  );
}

const THEMES: Readonly<Record<Theme, string>> = {
  auto: say`as the system`,
  light: say`light`,
  dark: say`dark`,
  contrast: say`high contrast`,
};

function Themes(): VNode {
  return (
    <label>
      <span class="theme">{say`colours`}</span>
      <select value={later.value.theme} onChange={(event) => go({ theme: event.currentTarget.value as Theme }, true)}>
        {Object.entries(THEMES).map(([theme, text]) => (
          <option value={theme}>{text}</option>
        ))}
      </select>
    </label>
  );
}
