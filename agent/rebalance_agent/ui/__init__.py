"""What people read: SVG, sentences and the agent's pages. `watch`, `explain` and the pipeline's report use it, too."""
