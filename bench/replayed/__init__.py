"""Attacks of a security review, replayed; each is measured before and after its mend."""
