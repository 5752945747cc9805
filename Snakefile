from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")

if not workflow.config_settings.configfiles:

    configfile: Path(workflow.basedir, "config", "config.yaml")


include: "rules/common.smk"
include: "rules/corpus.smk"
include: "rules/solutions.smk"
include: "rules/measurement.smk"
include: "rules/analysis.smk"
include: "rules/quality.smk"
include: "rules/report.smk"


onstart:
    hold_working_directory()
    follow(workflow)


onsuccess:
    clear_scratch()
    warn_of_the_machine()


onerror:
    clear_scratch()


report: "report/workflow.rst"


rule all:
    default_target: True
    input:
        "results/instances.parquet",
        "results/instances",
        "results/corpus.parquet",
        "results/cases.parquet",
        get_every_instance_result,
        get_released,
        "results/measurements.parquet",
        "results/findings.json",
        "results/pages",
        "results/report.html",
