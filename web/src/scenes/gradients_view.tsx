/** The loss flowing back: a page without the gradients says how one is written that has them. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { explains } from "../record/commands.ts";
import type { Scout } from "../scout/scout.ts";
import { Command } from "../views/command.tsx";
import { useStore } from "../views/hooks.ts";
import { say } from "../words/say.ts";
import type { Gradients } from "./gradients_flow.tsx";

const { Flow } = await import("./sections.ts");

export function GradientsView({ s }: { s: Scout }): VNode {
  const { source } = useStore();
  const [found, setFound] = useState<Gradients | null | undefined>(undefined);
  useEffect(() => {
    let current = true;
    const take = (told: unknown): void => {
      if (current) setFound((told ?? null) as Gradients | null);
    };
    source.section("gradients").then(take, () => take(null));
    return () => {
      current = false;
    };
  }, [source]);
  if (found === undefined) return <p class="quiet">{say`The gradients are worked out …`}</p>;
  return found === null ? <Absent s={s} /> : <Flow s={s} found={found} />;
}

function Absent({ s }: { s: Scout }): VNode {
  const { run } = s.names;
  if (!s.has("head.logits"))
    return <p class="wrong">{say`This model guesses no words, so there is no loss of them.`}</p>;
  return (
    <p class="wrong">
      {say`This page carries no gradients${run.changes === "" ? "" : say` of the changed run`}. Write it with them: ${<Command text={explains(run, "--gradients")} />}${run.editing == null ? "" : say`Or open it live: `}${run.editing != null && <Command text={run.editing.command} />}`}
    </p>
  );
}
