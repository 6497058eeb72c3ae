"""The home page of the explorer, and the site of static pages that `explore --publish` writes."""
