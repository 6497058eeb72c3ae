/** The pictures of a tensor next to its numbers, by the name that stands in the address, in the order of their links. */

import { box } from "./box.tsx";
import { histogram } from "./histogram.tsx";
import type { Kind } from "./kind.ts";
import { loss } from "./loss.tsx";
import { product } from "./product.tsx";
import { sorted } from "./sorted.tsx";

const [{ waves, distances, map }, { angles, bias }] = await Promise.all([
  import("./positions/encodings.ts"),
  import("./positions/turned.ts"),
]);

const all: Readonly<Record<string, Kind | undefined>> = {
  ...{ box, product },
  ...{ waves, distances, map, angles, bias },
  ...{ sorted, loss, histogram },
};

/** A page whose run has no such positions lacks their pictures. */
export const KINDS = Object.fromEntries(
  Object.entries(all).filter((row): row is [string, Kind] => row[1] !== undefined),
);
