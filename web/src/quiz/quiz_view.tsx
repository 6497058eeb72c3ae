/** Ten questions, answered before the page is looked at and after; each answer leads to the view that shows it. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, type Level, link, parse, START, type State, state } from "../address/state.ts";
import { useSession } from "../edit/session/context.ts";
import { loadBlock } from "../tour/texts.ts";
import { enter, needed, stepsOf } from "../tour/tour.ts";
import { placeIn } from "../tour/tours.ts";
import { Command } from "../views/command.tsx";
import { useInPicture, useOpened, useStore } from "../views/hooks.ts";
import { heard, say } from "../words/say.ts";
import { LETTERS, optionsOf, partsOf, type Sheet, sheetIn, wrongIn } from "./sheet.ts";

/** As `glassformer/page/quiz.toml` has it. */
interface Question {
  readonly question: string;
  readonly choices: readonly string[];
  readonly right: string;
  readonly because: string;
  /** The place in the page that shows the answer, and a model of the package that has it. */
  readonly view: string;
  readonly model: string;
}

/** Why a level has nothing to show of this run; empty: it has. */
export type Lacks = (level: Level) => string;

export function QuizView({ lacks }: { readonly lacks: Lacks }): VNode {
  useInPicture(false);
  const [questions, setQuestions] = useState<readonly Question[] | null>(null);
  const [wrong, setWrong] = useState("");
  useEffect(() => {
    loadBlock<{ question: Question[] }>("quiz").then(
      ({ question }) => setQuestions(question),
      (error: Error) => setWrong(error.message),
    );
  }, []);
  if (wrong !== "") return <p class="wrong">{say`The quiz has not come: ${wrong}`}</p>;
  return questions === null ? <p class="quiet">…</p> : <Quiz questions={questions} lacks={lacks} />;
}

const put = (sheet: Sheet): void => go({ options: optionsOf(sheet) }, true);

function Quiz({ questions, lacks }: { questions: readonly Question[]; lacks: Lacks }): VNode {
  const list = useRef<HTMLOListElement>(null);
  const sheet = sheetIn(state.value.options);
  const { chosen, checked, before } = sheet;
  const missed = wrongIn(
    sheet,
    questions.map(({ right }) => right),
  );
  const right = questions.length - missed.length;
  const answered = questions.filter((_, at) => chosen.has(at + 1)).length;
  const top = (): void => document.querySelector(".main")?.scrollTo(0, 0);
  const check = (): void => {
    put(checked ? { chosen: new Map(), checked: false, before: right } : { ...sheet, checked: true });
    top();
  };
  const toQuestion = (number: number): void => {
    list.current?.querySelector<HTMLElement>(`[data-number="${number}"]`)?.focus();
  };
  return (
    <div class="quiz">
      <h1 class="big">{checked ? say`${right} of ${questions.length} right` : say`Ten questions`}</h1>
      <p class="beneath">
        {say`Each question has one right choice. Answer them before you look at the page, and again after ten minutes with it.`}
      </p>
      <ol ref={list}>
        {questions.map((question, at) => (
          <li
            key={question.question}
            tabIndex={-1}
            data-number={at + 1}
            data-right={checked && !missed.includes(at + 1)}
          >
            <Asked
              question={question}
              label={say`${at + 1} of ${questions.length}`}
              name={`question-${at + 1}`}
              chosen={chosen.get(at + 1) ?? ""}
              checked={checked}
              onChoose={(letter) => put({ ...sheet, chosen: new Map(chosen).set(at + 1, letter) })}
            />
            {checked && <Because question={question} chosen={chosen.get(at + 1) ?? ""} lacks={lacks} />}
          </li>
        ))}
      </ol>
      <p class="quiet">
        {say`Your answers are in the address of this page and nowhere else: a copied link has them, and Back leads to them. Teachers: ${<Command text="python -m manual worksheets FOLDER" />}, in a copy of the repository, writes the same questions as a sheet to print.`}
      </p>
      <div class="quiz-bar">
        <p role="status">
          {checked && say`${right} of ${questions.length} right. `}
          {!checked && say`${answered} of ${questions.length} answered. `}
          {before !== null && say`The time before: ${before} right. `}
        </p>
        {checked && missed.length > 0 && (
          <p>
            {say`To see again:`}{" "}
            {missed.map((number) => (
              <button type="button" class="undo" key={number} onClick={() => toQuestion(number)}>
                <span class="away">{say`question`} </span>
                {number}
              </button>
            ))}
          </p>
        )}
        <button type="button" class="act" disabled={!checked && answered === 0} onClick={check}>
          {checked ? say`Answer them again` : say`Check my answers`}
        </button>
      </div>
    </div>
  );
}

function Asked(props: {
  question: Question;
  label: string;
  name: string;
  chosen: string;
  checked: boolean;
  onChoose: (letter: string) => void;
}): VNode {
  const { question, label, name, chosen, checked, onChoose } = props;
  return (
    <fieldset disabled={checked}>
      <legend>
        <span class="quiet">{label} </span>
        <Text of={heard(question.question)} />
      </legend>
      {question.choices.map((choice, at) => {
        const letter = LETTERS[at] ?? "";
        const mark = !checked
          ? ""
          : letter === question.right
            ? letter === chosen
              ? say`your choice, right`
              : say`the right choice`
            : letter === chosen
              ? say`your choice, wrong`
              : "";
        return (
          <label key={letter} data-mark={mark}>
            <input type="radio" name={name} checked={letter === chosen} onChange={() => onChoose(letter)} />
            <span>
              <b>{letter}</b> <Text of={heard(choice)} /> {mark !== "" && <small>({mark})</small>}
            </span>
          </label>
        );
      })}
    </fieldset>
  );
}

function Text({ of }: { of: string }): ComponentChildren {
  return partsOf(of).map((part, at) => (at % 2 === 1 ? <em>{part}</em> : part));
}

function Because({ question, chosen, lacks }: { question: Question; chosen: string; lacks: Lacks }): VNode {
  return (
    <p class="quiz-because">
      <b>{chosen === question.right ? say`Right.` : say`The right choice is ${question.right}.`}</b>{" "}
      <Text of={heard(question.because)} /> <Shown question={question} lacks={lacks} />
    </p>
  );
}

/** Where it is to be seen: in this run, in another model of this server, or by a command. */
function Shown({ question, lacks }: { question: Question; lacks: Lacks }): VNode | null {
  const store = useStore();
  const { engine } = useSession();
  const place = useMemo(() => parse(question.view), [question]);
  const { tour, step } = placeIn(place.tour);
  // The steps of a tour are known once what they are sought in is here.
  const ready = useOpened(place.tour === "" ? [] : needed(store.names, tour?.stack));
  if (place.tour !== "" && !ready) return null;
  const here =
    place.tour === "" ? lacks(place.level) === "" : tour !== undefined && stepsOf(store, tour).length >= step;
  const { theme, model, changes, sentence, tensor, cell } = state.value;
  const to: State = { ...place, theme, model, changes, sentence, tensor, cell };
  if (here) {
    return (
      <a
        href={link(to)}
        data-shows={question.view}
        onClick={(event) => {
          if (place.tour === "") return;
          event.preventDefault();
          void enter(store, place.tour);
        }}
      >
        {say`See it here`}
      </a>
    );
  }
  if (engine.offers.some(({ name }) => name === question.model)) {
    return (
      <a href={link({ ...START, ...place, theme, model: question.model })} data-shows={question.view}>
        {say`See it in ${question.model}`}
      </a>
    );
  }
  return (
    <span class="quiet">
      {say`Another model shows it: ${<Command text={`glassformer explore ${question.model}`} />}`}
    </span>
  );
}
