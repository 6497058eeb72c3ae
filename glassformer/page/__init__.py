"""All that becomes HTML: live server, exported file, notebook."""
