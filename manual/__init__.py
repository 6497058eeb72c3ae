"""The documentation site: `make docs` builds it from docs/, decisions/ and the docstrings into build/site/html."""
