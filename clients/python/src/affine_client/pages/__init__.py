"""HTML pages that need nothing else: no script, no style sheet, no file."""
