"""Amazon's IAM: a broker that verifies its tokens, and AWS's algorithm of signatures."""
