/** A list of all pictures of the source documents, each with its place in this page or the reason why it has none. */

import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { go, link, state } from "../../address/state.ts";
import { scoutOf } from "../../scout/scout.ts";
import { loadBlock } from "../../tour/texts.ts";
import { needed } from "../../tour/tour.ts";
import { useInPicture, useOpened, useStore } from "../../views/hooks.ts";
import { heard, say } from "../../words/say.ts";
import { SCENES } from "../scenes.ts";
import { Told } from "../told.tsx";
import { type Listed, type Listing, others, type Place, placeOf } from "./rows.ts";

export function PicturesView(): VNode {
  const store = useStore();
  const { sentence, picture: asked } = state.value;
  useInPicture(false);
  const [listing, setListing] = useState<Listing | null>(null);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    loadBlock<Listing>("pictures").then(setListing, (error: Error) => setWrong(error.message));
  }, []);
  const opened = useOpened(needed(store.names));
  const rows = useMemo(() => {
    if (listing === null || !opened) return null;
    const scout = scoutOf(store, sentence);
    const own = others(listing).map((scene): Listed => {
      const { title = scene, says = "" } = SCENES[scene] ?? {};
      return { key: scene, document: "page", where: "", title, says, open: `level=scene&scene=${scene}` };
    });
    return [...listing.picture, ...own].map((row) => ({ row, place: placeOf(row, listing, scout) }));
  }, [listing, opened, store, sentence]);
  const found = rows?.find(({ row }) => row.key === asked);
  const at = found !== undefined && "at" in found.place ? found.place.at : null;
  useEffect(() => {
    // An address that names a picture leads to it, in whatever model is open.
    if (at !== null) go(at, true);
    else document.querySelector(".gallery [aria-current=true]")?.scrollIntoView({ block: "center" });
  }, [at, found]);
  if (wrong !== "") return <p class="wrong">{say`The list of pictures has not come: ${wrong}`}</p>;
  if (rows === null || listing === null || at !== null) return <p class="quiet">…</p>;
  const here = rows.filter(({ place }) => "at" in place).length;
  return (
    <div class="gallery">
      <h1 class="big">{say`Pictures of the documents`}</h1>
      <p class="quiet gallery-says">
        {say`${here} of ${rows.length} are alive here, on your own sentence. The others say what they need.`}
      </p>
      {Object.entries({ ...listing.documents, page: say`In no document` }).map(([key, title]) => {
        const own = rows.filter(({ row }) => row.document === key);
        if (own.length === 0) return null;
        return (
          <section key={key}>
            <h2 class="strong">{heard(title)}</h2>
            <ul>
              {own.map(({ row, place }) => (
                <Entry key={row.key} row={row} place={place} asked={row.key === asked} />
              ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}

function Entry({ row, place, asked }: { row: Listed; place: Place; asked: boolean }): VNode {
  const text = heard(row.title);
  const title = "at" in place ? <a href={link({ heads: [], ...place.at })}>{text}</a> : text;
  return (
    <li data-key={row.key} data-here={"at" in place} aria-current={asked ? "true" : undefined}>
      <p class="gallery-title">{title}</p>
      <p>{heard(row.says)}</p>
      {"lacks" in place && <p class="gallery-lacks">{say`Not here: ${<Told text={place.lacks} />}`}</p>}
      {row.where !== "" && <p class="quiet gallery-where">{heard(row.where)}</p>}
    </li>
  );
}
