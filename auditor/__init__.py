"""A second reader of margins releases, written from the documents alone."""
