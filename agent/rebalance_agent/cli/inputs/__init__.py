"""What commands read: an agent's API, a cluster, files of events and records. Everything is checked where it enters."""
