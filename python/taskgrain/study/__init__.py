"""The things to be measured: the fields of a workload, study files, settings."""
