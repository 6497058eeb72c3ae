/** What leaves the page. */

export { Menu } from "../leave/menu.tsx";
