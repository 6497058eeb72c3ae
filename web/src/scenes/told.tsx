/** Why there is no picture, with the command that gives one. */

import type { VNode } from "preact";
import { Command } from "../views/command.tsx";

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
