/** What leaves the page, and the list of its keys. */

export { Menu } from "../leave/menu.tsx";
export { Help } from "../views/help.tsx";
export { Languages } from "../views/languages.tsx";
