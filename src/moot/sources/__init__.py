"""Documents for debates: read once, before the debate starts."""
