"""Makes, checks and publishes a release: ``make release-check``, and the jobs of ``.github/workflows/release.yml``.

Both run ``python tests/supply/release STEP...``, so each step of the workflow that needs no registry also runs in a
checkout. `step_table` lists the steps, `run_steps` runs them and reports. `settings` are the inputs: the repository's
address, the registry and the tag. `staging` copies the checkout and fills in what depends on the address
(links, `chart_metadata`); everything is built from this copy.
"""
