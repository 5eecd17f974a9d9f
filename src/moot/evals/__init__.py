"""Whether a debate is worth it: the same questions put to several arms, each item exactly once."""
