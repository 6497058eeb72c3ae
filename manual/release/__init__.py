"""What a release is checked with: `make release-check`."""
