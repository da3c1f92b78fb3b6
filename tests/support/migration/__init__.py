"""Groups that change to KIP-848, frame by frame, with members of both protocols in one thread."""
