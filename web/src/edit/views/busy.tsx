/** While a run is made: a thin line that fills, and after a second what is being done, and a way to stop it. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { say } from "../../words/say.ts";
import { useSession } from "../session/context.ts";

/** Before this many ms a run leaves no trace on the page; after the second number it says what it does. */
const SHORT = 100;
const LONG = 1000;

export function BusyLine(): VNode | null {
  const session = useSession();
  const busy = session.busy.value;
  const [since, setSince] = useState(0);
  useEffect(() => {
    setSince(0);
    if (busy === null) return;
    const timers = [SHORT, LONG].map((after) => setTimeout(() => setSince(after), after));
    return () => timers.forEach(clearTimeout);
  }, [busy]);
  return (
    <>
      {busy !== null && since >= SHORT && <div class="busy" style={{ animationDuration: `${session.took * 1.5}ms` }} />}
      <p class="busy-says" role="status">
        {busy !== null && since >= LONG && (
          <>
            {busy.doing}.{" "}
            <button type="button" onClick={busy.stop}>
              {say`Stop`}
            </button>
          </>
        )}
      </p>
    </>
  );
}
