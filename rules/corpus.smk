# Datasets and predictions become instances; instances become the corpus, or are excluded with a reason.


checkpoint instances:
    input:
        **INPUT_FILES,
        settings=settings_file(
            "instances",
            "datasets",
            "sources",
            "repositories",
            "environments",
            "instances",
            "exclude",
            "grading",
            "reproductions",
            "warmup",
        ),
    output:
        table="results/instances.parquet",
        candidates="results/candidates.parquet",
        sources="results/sources.parquet",
        origins="results/inputs.json",
        rows=directory("results/instances"),
    log:
        "results/logs/instances.log",
    conda:
        "../envs/study.yaml"
    params:
        sandbox=[CONFIG.sandbox.kind, CONFIG.sandbox.images.activate],
    script:
        "../scripts/read_instances.py"


rule environment:
    input:
        manifest=ancient("results/instances.parquet"),
    output:
        "results/environments/{digest}.json",
    log:
        "results/logs/environments/{digest}.log",
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/build_environment.py"


rule reproduce:
    input:
        manifest=ancient("results/instances.parquet"),
        environment=unless_image(get_environment),
    output:
        "results/reproductions/{instance}.json",
    log:
        "results/logs/reproductions/{instance}.log",
    conda:
        "../envs/study.yaml"
    params:
        spec=get_spec("reproduce"),
    script:
        "../scripts/reproduce_ground_truth.py"


rule probe:
    input:
        manifest=ancient("results/instances.parquet"),
        environment=unless_image(get_environment),
        reproduction="results/reproductions/{instance}.json",
    output:
        "results/probes/{instance}.json",
    log:
        "results/logs/probes/{instance}.log",
    conda:
        "../envs/study.yaml"
    params:
        spec=get_spec("probe"),
    script:
        "../scripts/probe_test.py"


checkpoint corpus:
    input:
        manifest="results/instances.parquet",
        probes=get_probes,
    output:
        "results/corpus.parquet",
    log:
        "results/logs/corpus.log",
    conda:
        "../envs/study.yaml"
    params:
        instances=get_time_of_instances,
        code=code_digest("study.entry", "study.ledger", "study.repeatability"),
    script:
        "../scripts/select_corpus.py"
