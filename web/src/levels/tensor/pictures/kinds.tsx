/** The pictures of a tensor beside its numbers, by the name that stands in the address, in the order of their links. */

import { box } from "./box.tsx";
import { histogram } from "./histogram.tsx";
import type { Kind } from "./kind.ts";
import { loss } from "./loss.tsx";
import { angles } from "./positions/angles.tsx";
import { bias } from "./positions/bias.tsx";
import { distances } from "./positions/distances.tsx";
import { map } from "./positions/map.tsx";
import { waves } from "./positions/waves.tsx";
import { product } from "./product.tsx";
import { sorted } from "./sorted.tsx";

export const KINDS: Readonly<Record<string, Kind>> = {
  ...{ box, product },
  ...{ waves, distances, map, angles, bias },
  ...{ sorted, loss, histogram },
};
