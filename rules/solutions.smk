# Candidates are graded; the correct ones with equal code are one solution; a kept instance with its solutions is a case.


rule grade:
    input:
        manifest=ancient("results/instances.parquet"),
        environment=ancient(get_environment),
        reproduction="results/reproductions/{instance}.json",
    output:
        "results/grades/{instance}.json",
    log:
        "results/logs/grades/{instance}.log",
    conda:
        "../envs/study.yaml"
    params:
        spec=get_spec("grade"),
    script:
        "../scripts/grade_candidates.py"


rule host:
    input:
        settings=settings_file("host", "counter"),
    output:
        report(
            "results/host.json",
            caption="../report/captions/host.rst",
            category="Measurement",
            labels={"content": "machine", "kind": "JSON"},
        ),
    log:
        "results/logs/host.log",
    conda:
        "../envs/study.yaml"
    params:
        host=host_class(),
        counter=CONFIG.counter,
        confinement=CONFIG.sandbox.confinement,
        pool=pool_size(CONFIG.isolation.group_cores),
    script:
        "../scripts/inspect_host.py"


checkpoint cases:
    input:
        manifest="results/instances.parquet",
        corpus="results/corpus.parquet",
        grades=get_grades,
        probes=get_kept_probes,
        host="results/host.json",
        protocol=settings_file(
            "cases", "warmup", "calibration", "replicates", "seed", "isolation"
        ),
    output:
        cases="results/cases.parquet",
        outcomes="results/outcomes.parquet",
    log:
        "results/logs/cases.log",
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/assemble_cases.py"
