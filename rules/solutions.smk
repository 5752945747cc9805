# Candidates are graded; the correct ones with equal code are one solution; a kept instance with its solutions is a case.


rule grade:
    input:
        manifest=ancient("results/instances.parquet"),
        environment=unless_image(get_environment),
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
        images=get_first_image,
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
        sandbox=CONFIG.sandbox.kind,
        confinement=CONFIG.sandbox.confinement,
        pool=CONFIG.isolation.pool_size,
    script:
        "../scripts/inspect_host.py"


checkpoint cases:
    input:
        manifest="results/instances.parquet",
        corpus="results/corpus.parquet",
        grades=get_grades,
        probes=get_kept_probes,
        host="results/host.json",
        images=get_kept_images,
        protocol=settings_file(
            "cases",
            "warmup",
            "calibration",
            "replicates",
            "seed",
            "isolation",
            "garbage_collector",
            "counting",
        ),
    output:
        cases="results/cases.parquet",
        outcomes="results/outcomes.parquet",
    log:
        "results/logs/cases.log",
    conda:
        "../envs/study.yaml"
    params:
        corpus=get_time_of_corpus,
    script:
        "../scripts/assemble_cases.py"
