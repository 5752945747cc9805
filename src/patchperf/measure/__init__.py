"""Measuring a case: calibration, the schedule of replicates, the journal, the records. Knows no benchmark."""
