"""Settings: flags > environment > file > defaults. Every name is checked; secrets are never shown."""
