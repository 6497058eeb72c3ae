// What the theme leaves open for people who read with a keyboard or a screen reader: each landmark has its own name.
const named = (elements, what) =>
  elements.forEach((each, number) => {
    each.removeAttribute("aria-labelledby");
    each.setAttribute("aria-label", `${what} ${number + 1}`);
  });
const mend = () => {
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) table.tabIndex = 0;
  named(document.querySelectorAll("nav .md-nav[data-md-level]"), "Pages, level");
  named(document.querySelectorAll(".md-code__nav"), "Code");
};
mend();
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
