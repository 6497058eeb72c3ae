/** Whether a page has a server; what asks it, `HttpSource`, is in a part that an exported page lacks. */

import type { HttpSource } from "./http_source.ts";
import type { Source } from "./source.ts";

export function isServed(source: Source): source is HttpSource {
  return "offers" in source;
}
