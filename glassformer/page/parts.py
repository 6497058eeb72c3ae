"""The script of an exported page in the parts in which a server sends it: a core, and chunks that are run when a view
needs them.

A server's files import each other by name. In a page that is one file each stands in an inert block, as a function
that makes what the file exports from what it imports. The few lines of `LOADER` unpack a part, run it, and keep what it
made.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache

NAMED = r"([\w.-]+\.js)"
_IMPORT = re.compile(rf'\bimport\s*(?:\{{([^}}]*)\}}\s*from\s*)?"\./{NAMED}";?')
_LATER = re.compile(rf'\bimport\("\./{NAMED}"\)')
_LANGUAGE = re.compile(r"([a-z]{2})-[\w-]+\.js")
_EXPORT = re.compile(r"\bexport\s*\{([^}]*)\};?\s*$")

CORE, STYLE = "core.js", "page-style"
ID = "part-"
"""Before the name of a part in the id of its block."""

LOADER = """
const unpacked = async (id) => {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  writer.write(bytes);
  writer.close();
  return new Response(stream.readable).text();
};
const put = (tag, text) => {
  const element = document.createElement(tag);
  element.dataset.unpacked = "";
  element.textContent = text;
  document.head.append(element);
};
const [given, asked] = [{}, {}];
globalThis.glassformer = (name, needs, make) => (given[name] = [needs, make]);
const get = (name) => (asked[name] ??= part(name));
const part = async (name) => {
  const id = "part-" + name.replace(".js", "");
  if (!document.getElementById(id)) return {}; // this run has no use for it
  put("script", await unpacked(id));
  const [needs, make] = given[name];
  return make(get, ...(await Promise.all(needs.map(get))));
};
try {
  put("style", await unpacked("page-style"));
  await get("core.js");
} catch (error) {
  const old = typeof DecompressionStream === "undefined";
  document.getElementById("explorer").textContent = old
    ? "This page needs a browser of 2023 or later: it is compressed."
    : "This page cannot be shown: " + error;
}
"""


def as_part(name: str, text: str) -> str:
    """A file of the served script as a part of a page. Raises ValueError for a file that imports in another way."""
    needs: dict[str, list[str]] = {}

    def taken(found: re.Match[str]) -> str:
        needs.setdefault(found[2], []).extend([] if found[1] is None else [_pairs(found[1])])
        return ""

    exported = _EXPORT.search(text)
    body = text[: exported.start()] if exported else text
    body = _LATER.sub(r'$get("\1")', _IMPORT.sub(taken, body))
    if re.search(r'\b(?:import|export)\s*[{*]|\bimport\.meta|\bfrom\s*"\./', body):
        raise ValueError(f"{name} imports or exports in a way that a page cannot")
    returned = _pairs(exported[1], turned=True) if exported else ""
    listed = ",".join(f'"{need}"' for need in needs)
    given = ",".join(("$get", *(f"{{{','.join(pairs)}}}" for pairs in needs.values())))
    return f'"use strict";glassformer("{name}",[{listed}],async({given})=>{{{body}\nreturn{{{returned}}}}});'


def _pairs(names: str, *, turned: bool = False) -> str:
    """`a as b,c` as `a:b,c`; turned as `b:a,c`."""
    pairs = [each.strip().split(" as ") for each in names.split(",") if each.strip()]
    return ",".join(":".join(reversed(pair) if turned else pair) for pair in pairs)


def languages(files: Iterable[str]) -> frozenset[str]:
    """The languages other than English whose words are among the files: each is a chunk with two letters for a name."""
    return frozenset(found[1] for name in files if (found := _LANGUAGE.fullmatch(name)))


@cache
def reached(files: frozenset[tuple[str, str]], without: frozenset[str]) -> tuple[str, ...]:
    """The names of the files that a page needs, the core first, if it lacks the chunks of these names."""
    texts = dict(files)
    lacking = {name for name in texts if name.partition("-")[0] in without}
    found, new = [CORE], [CORE]
    while new:
        named = re.findall(rf'"\./{NAMED}"', texts[new.pop()])
        more = [name for name in dict.fromkeys(named) if name not in found and name not in lacking]
        found += more
        new += more
    return tuple(found)


def parts_of(files: Mapping[str, str], without: Collection[str] = ()) -> dict[str, str]:
    """The parts of a page that lacks some chunks, by their names. `files` are those of a served page."""
    scripts = frozenset((name, text) for name, text in files.items() if name.endswith(".js"))
    return {name: as_part(name, files[name]) for name in reached(scripts, frozenset(without))}
