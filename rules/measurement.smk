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


# Where an emulator counts, a job of its own for each case: many at a time, since counts do not care who else works.


rule count:
    input:
        cases=ancient("results/cases.parquet"),
        host=ancient("results/host.json"),
        probe=ancient("results/probes/{instance}.json"),
        native="results/measurements/{instance}.parquet",
    output:
        records="results/counts/{instance}.parquet",
        verdict="results/counts/{instance}.json",
    log:
        "results/logs/counts/{instance}.log",
    conda:
        "../envs/study.yaml"
    params:
        spec=get_case,
    script:
        "../scripts/count_case.py"


rule measurements:
    input:
        cases="results/cases.parquet",
        corpus="results/corpus.parquet",
        records=get_measured("parquet"),
        verdicts=get_measured("json"),
        counts=get_counted("parquet"),
        counted=get_counted("json"),
    output:
        measurements="results/measurements.parquet",
        ledger="results/ledger.parquet",
    log:
        "results/logs/measurements.log",
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/collect_measurements.py"


rule release:
    input:
        environment=ancient("results/environments/{digest}.json"),
        results=get_results_in_image,
    output:
        "results/released/{digest}.json",
    log:
        "results/logs/released/{digest}.log",
    # Room for the next image comes before more work.
    priority: 1
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/release_image.py"
