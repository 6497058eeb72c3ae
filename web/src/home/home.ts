/** The home page of a server: fills the cards that are in sight, one after the other, and opens other models. */

import { problemOf, RefusedError } from "../sources/refused.ts";
import { heard, KEPT, LANGUAGE, LANGUAGES, say } from "../words/say.ts";

/** What the server sends for a card: `glassformer/page/server/home.py` makes it. */
interface Card {
  readonly question: string;
  readonly answer: string;
  readonly href: string;
  readonly picture: string;
  readonly what: string;
  readonly text: string;
}

interface Refusal {
  readonly error?: ConstructorParameters<typeof RefusedError>[1];
}

/** The answer of the server, or an error with its sentence. */
async function asked<Answer>(address: string, options: RequestInit = {}): Promise<Answer> {
  const answer = await fetch(address, options);
  const told: unknown = await answer.json();
  if (!answer.ok) {
    const { error } = told as Refusal;
    const text = say`the server answers ${answer.status}`;
    throw new RefusedError(answer.status, error ?? { text, wanted: "", got: "", do: "" });
  }
  return told as Answer;
}

// ------------------------------------------------------------------- the language

/** What is drawn of a text of a run, or names a model: it is in its own language. */
const OWN = ".text, .more b, code, script, style";

/** Of a picture the labels of its states; its other letters are words of a run. */
const LABEL = /^(the words|block \d+)$/;

/** Says the words of an element, which the server writes in English, in the language that was chosen. */
function translate(root: Element): void {
  if (LANGUAGE === "en") return;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode as Text;
    const text = node.data.trim();
    const own = node.parentElement?.closest(OWN) !== null || (root.localName === "svg" && !LABEL.test(text));
    if (text !== "" && !own) node.data = node.data.replace(text, heard(text));
  }
  for (const element of [root, ...root.querySelectorAll("[aria-label]")]) {
    const label = element.getAttribute("aria-label");
    if (label !== null) element.setAttribute("aria-label", heard(label));
  }
}

/** The list of languages: another one begins the page again. */
function languages(): HTMLSelectElement {
  const list = document.createElement("select");
  list.setAttribute("aria-label", say`language`);
  for (const [name, [text]] of Object.entries(LANGUAGES)) {
    const option = new Option(text, name, false, name === LANGUAGE);
    option.lang = name;
    list.append(option);
  }
  list.addEventListener("change", () => {
    try {
      localStorage.setItem(KEPT, list.value);
    } catch {
      // Where a browser keeps nothing, the address has it.
    }
    location.hash = `language=${list.value}`;
    location.reload();
  });
  return list;
}

translate(document.body);
document.title = document.title.replace(/^.*(?= ·)/, heard);
document.querySelector(".brand")?.append(languages());

// ------------------------------------------------------------------- cards

const waiting: HTMLElement[] = [];
let busy = false;

const sight = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting || !(target instanceof HTMLElement)) continue;
    sight.unobserve(target);
    waiting.push(target);
  }
  void next();
});

async function next(): Promise<void> {
  const card = busy ? undefined : waiting.shift();
  if (card === undefined) return;
  busy = true;
  await fill(card);
  busy = false;
  await next();
}

async function fill(card: HTMLElement): Promise<void> {
  const put = (part: string, text: string): void => {
    const element = card.querySelector(part);
    if (element !== null && text !== "") element.textContent = heard(text);
  };
  try {
    const told = await asked<Card>(`api/cards/${encodeURIComponent(card.dataset["card"] ?? "")}`);
    const drawn = new DOMParser().parseFromString(told.picture, "text/html").querySelector("svg");
    if (drawn !== null) {
      translate(drawn);
      card.querySelector(".picture")?.replaceChildren(drawn);
    }
    const link = card.querySelector<HTMLAnchorElement>("h3 a");
    if (link !== null) link.href = told.href;
    put("h3 a", told.question);
    put(".answer", told.answer);
    // A text of the run is in its own language.
    const text = card.querySelector(".text");
    if (text !== null) text.textContent = told.text;
    put(".what", told.what);
    delete card.dataset["card"];
  } catch (error) {
    put(".answer", problemOf(error));
    card.querySelector(".answer")?.classList.add("wrong");
  }
}

for (const card of document.querySelectorAll<HTMLElement>("[data-card]")) sight.observe(card);

// ------------------------------------------------------------------- another model

const form = document.querySelector<HTMLFormElement>("#open");
const told = document.querySelector<HTMLElement>("#told");

function tell(text: string, wrong = false): void {
  if (told === null) return;
  told.textContent = text;
  told.classList.toggle("wrong", wrong);
}

async function open(options: RequestInit): Promise<void> {
  const { name } = await asked<{ name: string }>("api/models", { method: "POST", ...options });
  location.href = `./#${new URLSearchParams({ level: "model", model: name })}`;
}

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const place = String(new FormData(form).get("place") ?? "").trim();
  tell(say`Opening ${place} …`);
  open({ body: JSON.stringify({ place }) }).catch((error: unknown) => tell(problemOf(error), true));
});

// ------------------------------------------------------------------- a folder that is dropped

/** The files of a folder that were dropped: those directly in it. */
async function filesOf(folder: FileSystemDirectoryEntry): Promise<File[]> {
  const reader = folder.createReader();
  const found: File[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, wrong) => reader.readEntries(done, wrong));
    if (some.length === 0) return found;
    for (const entry of some) {
      if (entry.isFile) {
        found.push(await new Promise<File>((done, wrong) => (entry as FileSystemFileEntry).file(done, wrong)));
      }
    }
  }
}

addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.dataset["over"] = "";
});
addEventListener("dragleave", () => delete document.body.dataset["over"]);
addEventListener("drop", (event) => {
  event.preventDefault();
  delete document.body.dataset["over"];
  const entry = [...(event.dataTransfer?.items ?? [])].map((item) => item.webkitGetAsEntry()).find((each) => each);
  if (entry?.isDirectory !== true) {
    tell(say`The folder of a model is needed, not a file: drop the whole folder.`, true);
    return;
  }
  tell(say`Reading ${entry.name} …`);
  dropped(entry as FileSystemDirectoryEntry).catch((error: unknown) => tell(problemOf(error), true));
});

/** A server takes in so many bytes at once. */
const PIECE = 900_000;

/** Sends the files of a folder piece by piece, and opens what they are. What no model has the server refuses: it is left out. */
async function dropped(folder: FileSystemDirectoryEntry): Promise<void> {
  const key = crypto.randomUUID().replaceAll("-", "");
  const files = (await filesOf(folder)).filter(({ name }) =>
    /\.(jsonl?|safetensors|toml|txt|model|spm|jinja)$/.test(name),
  );
  const all = files.reduce((sum, { size }) => sum + size, 0);
  let sent = 0;
  for (const file of files) {
    for (let offset = 0; offset < file.size; offset += PIECE) {
      const address = `api/dropped/${key}/${encodeURIComponent(file.name)}?offset=${offset}`;
      await asked(address, { method: "POST", body: file.slice(offset, offset + PIECE) });
      sent += Math.min(PIECE, file.size - offset);
      tell(say`Reading ${folder.name}: ${Math.round((100 * sent) / all)} %`);
    }
  }
  tell(say`Opening ${folder.name} …`);
  await open({ body: JSON.stringify({ dropped: key, name: folder.name }) });
}
