# Candidates' complexity and findings, from the text of their files; with outcomes and speeds they are the Quality Index.


rule count_patches:
    input:
        manifest=ancient("results/instances.parquet"),
        environment=unless_image(get_environment),
    output:
        "results/quality/{instance}.json",
    log:
        "results/logs/quality/{instance}.log",
    conda:
        "../envs/study.yaml"
    params:
        spec=get_spec("quality"),
        code=code_digest(
            "quality.changed_lines",
            "quality.complexity",
            "quality.plain_layout",
            "quality.security",
            "quality.versions",
            "study.quality",
        ),
        tools=tool_versions("bandit", "lizard"),
    script:
        "../scripts/count_patches.py"


rule collect_patches:
    input:
        counted=get_counted_patches,
    output:
        "results/patches.parquet",
    log:
        "results/logs/collect_patches.log",
    conda:
        "../envs/study.yaml"
    script:
        "../scripts/collect_patches.py"


rule quality_tables:
    input:
        patches="results/patches.parquet",
        outcomes="results/outcomes.parquet",
        pairs="results/tables/pairs.csv",
        settings=settings_file("quality_tables", "quality", "seed"),
    output:
        quality=CSV["quality"],
        quality_tex="results/tables/quality.tex",
        quality_patches=CSV["quality_patches"],
        quality_patches_tex="results/tables/quality_patches.tex",
        mcnemar=CSV["mcnemar"],
        mcnemar_tex="results/tables/mcnemar.tex",
        quality_weights=CSV["quality_weights"],
        quality_weights_tex="results/tables/quality_weights.tex",
        correctness_by_size=CSV["correctness_by_size"],
        correctness_by_size_tex="results/tables/correctness_by_size.tex",
        generation_speed=CSV["generation_speed"],
        generation_speed_tex="results/tables/generation_speed.tex",
    log:
        "results/logs/quality_tables.log",
    conda:
        "../envs/analysis.yaml"
    params:
        code=code_digest("analysis", "quality", "stats", "tables"),
    script:
        "../scripts/rate_sources.py"
