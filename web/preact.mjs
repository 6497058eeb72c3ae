// What JSX is compiled to, given to each file that has some, by names that no variable of the page has.
export { Fragment as $Fragment, h as $element } from "preact";
