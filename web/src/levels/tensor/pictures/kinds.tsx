/** The pictures of a tensor beside its numbers, by the name that stands in the address, in the order of their links. */

import { angles } from "./angles.tsx";
import { bias } from "./bias.tsx";
import { box } from "./box.tsx";
import { distances } from "./distances.tsx";
import { histogram } from "./histogram.tsx";
import type { Kind } from "./kind.ts";
import { loss } from "./loss.tsx";
import { map } from "./map.tsx";
import { product } from "./product.tsx";
import { sorted } from "./sorted.tsx";
import { waves } from "./waves.tsx";

export const KINDS: Readonly<Record<string, Kind>> = {
  ...{ box, product },
  ...{ waves, distances, map, angles, bias },
  ...{ sorted, loss, histogram },
};
