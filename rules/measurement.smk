# One job per case: it calibrates N on the fastest solution and runs all solutions' replicates, interleaved.


rule measure:
    input:
        cases=ancient("results/cases.parquet"),
        host=ancient("results/host.json"),
        probe=ancient("results/probes/{instance}.json"),
    output:
        records="results/measurements/{instance}.parquet",
        verdict="results/measurements/{instance}.json",
    log:
        "results/logs/measurements/{instance}.log",
    conda:
        "../envs/study.yaml"
    # No other job runs beside a measurement.
    threads: workflow.cores
    resources:
        core_group=1,
    params:
        spec=get_case,
    script:
        "../scripts/measure_case.py"


rule measurements:
    input:
        cases="results/cases.parquet",
        corpus="results/corpus.parquet",
        records=get_measured("parquet"),
        verdicts=get_measured("json"),
    output:
        measurements="results/measurements.parquet",
        ledger="results/ledger.parquet",
    log:
        "results/logs/measurements.log",
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/collect_measurements.py"
