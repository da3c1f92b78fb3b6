"""Amazon's IAM: a broker that verifies its tokens, and the signatures that AWS publishes."""
