"""What commands print: the live table of `watch`, and the text of `whatif`."""
