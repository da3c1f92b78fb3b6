"""What an instrumented consumer costs its process."""
