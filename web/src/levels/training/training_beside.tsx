/** Beside the picture: the numbers of the step in hand, once there are some. */

import type { VNode } from "preact";
import { told } from "./followed.ts";

const { Numbers } = await import("./trained.tsx");

export function TrainingBeside(): VNode | null {
  const known = told.value;
  if (known == null) return null;
  return <Numbers told={known} />;
}
