# Ledger, outcomes and measurements become tables, tables become figures and findings.

# table: its category in the report
TABLES = {
    "funnel": "Corpus",
    "repeatability": "Corpus",
    "io": "Corpus",
    "ledger": "Corpus",
    "sources": "Outcomes",
    "outcomes": "Outcomes",
    "outcome_rates": "Outcomes",
    "outcome_flows": "Outcomes",
    "outcome_changes": "Outcomes",
    "agreement": "Outcomes",
    "solutions": "Measurement",
    "warmth": "Measurement",
    "cases": "Performance",
    "contrasts": "Performance",
    "distinguishable": "Performance",
    "pairs": "Performance",
    "speedups": "Performance",
    "champions": "Performance",
    "quality": "Quality",
    "quality_patches": "Quality",
    "mcnemar": "Quality",
    "quality_weights": "Quality",
    "correctness_by_size": "Quality",
    "generation_speed": "Quality",
}

# figure: (the table it is drawn from, its category in the report)
FIGURES = {
    "funnel": ("funnel", "Corpus"),
    "io": ("io", "Corpus"),
    "outcomes": ("outcomes", "Outcomes"),
    "outcome_rates": ("outcome_rates", "Outcomes"),
    "outcome_repositories": ("outcome_rates", "Outcomes"),
    "outcome_flows": ("outcome_flows", "Outcomes"),
    "repetitions": ("cases", "Measurement"),
    "noise": ("solutions", "Measurement"),
    "significance": ("cases", "Performance"),
    "metrics": ("contrasts", "Performance"),
    "speedups": ("speedups", "Performance"),
    "ratios": ("pairs", "Performance"),
    "champions": ("champions", "Performance"),
    "quality": ("quality", "Quality"),
    "quality_weights": ("quality", "Quality"),
    "normalisation": ("quality", "Quality"),
    "correctness_by_size": ("correctness_by_size", "Quality"),
    "generation_speed": ("generation_speed", "Quality"),
}

ANALYSIS = [
    *expand("results/tables/{table}.{kind}", table=TABLES, kind=["csv", "tex"]),
    *expand("results/figures/{figure}.{kind}", figure=FIGURES, kind=["pdf", "svg"]),
    "results/findings.json",
]


CSV = {
    table: report(
        f"results/tables/{table}.csv",
        caption=f"../report/captions/table_{table}.rst",
        category=category,
        labels={"content": table, "kind": "table"},
    )
    for table, category in TABLES.items()
}


rule ledger_tables:
    input:
        ledger="results/ledger.parquet",
    output:
        ledger=CSV["ledger"],
        ledger_tex="results/tables/ledger.tex",
        funnel=CSV["funnel"],
        funnel_tex="results/tables/funnel.tex",
        repeatability=CSV["repeatability"],
        repeatability_tex="results/tables/repeatability.tex",
        io=CSV["io"],
        io_tex="results/tables/io.tex",
    log:
        "results/logs/ledger_tables.log",
    conda:
        "../envs/analysis.yaml"
    params:
        code=code_digest("analysis", "stats", "study.repeatability", "tables"),
    script:
        "../scripts/tabulate_ledger.py"


rule outcome_tables:
    input:
        sources="results/sources.parquet",
        outcomes="results/outcomes.parquet",
        settings=settings_file("outcome_tables", "sources"),
    output:
        sources=CSV["sources"],
        sources_tex="results/tables/sources.tex",
        outcomes=CSV["outcomes"],
        outcomes_tex="results/tables/outcomes.tex",
        outcome_rates=CSV["outcome_rates"],
        outcome_rates_tex="results/tables/outcome_rates.tex",
        outcome_flows=CSV["outcome_flows"],
        outcome_flows_tex="results/tables/outcome_flows.tex",
        outcome_changes=CSV["outcome_changes"],
        outcome_changes_tex="results/tables/outcome_changes.tex",
        agreement=CSV["agreement"],
        agreement_tex="results/tables/agreement.tex",
    log:
        "results/logs/outcome_tables.log",
    conda:
        "../envs/analysis.yaml"
    params:
        previous=CONFIG.previous,
        code=code_digest("analysis", "quality", "stats", "tables"),
    script:
        "../scripts/tabulate_outcomes.py"


rule warmth:
    input:
        ledger="results/ledger.parquet",
        cases="results/cases.parquet",
        measurements="results/measurements.parquet",
        settings=settings_file("warmth", "collapse"),
    output:
        warmth=CSV["warmth"],
        warmth_tex="results/tables/warmth.tex",
    log:
        "results/logs/warmth.log",
    conda:
        "../envs/analysis.yaml"
    params:
        collapse=CONFIG.collapse,
        code=code_digest("analysis", "stats", "tables"),
    script:
        "../scripts/compare_calls.py"


rule case_statistics:
    input:
        ledger="results/ledger.parquet",
        cases="results/cases.parquet",
        measurements="results/measurements.parquet",
        warmth="results/tables/warmth.csv",
        settings=settings_file(
            "case_statistics", "alpha", "practical_threshold", "seed"
        ),
    output:
        solutions=CSV["solutions"],
        solutions_tex="results/tables/solutions.tex",
        cases=CSV["cases"],
        cases_tex="results/tables/cases.tex",
        contrasts=CSV["contrasts"],
        contrasts_tex="results/tables/contrasts.tex",
        distinguishable=CSV["distinguishable"],
        distinguishable_tex="results/tables/distinguishable.tex",
    log:
        "results/logs/case_statistics.log",
    conda:
        "../envs/analysis.yaml"
    params:
        alpha=CONFIG.alpha,
        practical_threshold=CONFIG.practical_threshold,
        seed=CONFIG.seed,
        code=code_digest("analysis", "stats", "tables"),
    script:
        "../scripts/analyse_cases.py"


rule comparisons:
    input:
        ledger="results/ledger.parquet",
        members="results/cases.parquet",
        solutions="results/tables/solutions.csv",
        cases="results/tables/cases.csv",
        settings=settings_file("comparisons", "seed"),
    output:
        pairs=CSV["pairs"],
        pairs_tex="results/tables/pairs.tex",
        speedups=CSV["speedups"],
        speedups_tex="results/tables/speedups.tex",
        champions=CSV["champions"],
        champions_tex="results/tables/champions.tex",
    log:
        "results/logs/comparisons.log",
    conda:
        "../envs/analysis.yaml"
    params:
        seed=CONFIG.seed,
        code=code_digest("analysis", "stats", "tables"),
    script:
        "../scripts/compare_sources.py"


rule findings:
    input:
        funnel="results/tables/funnel.csv",
        outcomes="results/tables/outcomes.csv",
        outcome_rates="results/tables/outcome_rates.csv",
        agreement="results/tables/agreement.csv",
        solutions="results/tables/solutions.csv",
        cases="results/tables/cases.csv",
        speedups="results/tables/speedups.csv",
        champions="results/tables/champions.csv",
    output:
        report(
            "results/findings.json",
            caption="../report/captions/findings.rst",
            category="Findings",
            labels={"content": "findings", "kind": "JSON"},
        ),
    log:
        "results/logs/findings.log",
    conda:
        "../envs/analysis.yaml"
    params:
        code=code_digest("analysis", "stats", "tables"),
    script:
        "../scripts/state_findings.py"


for figure, (table, category) in FIGURES.items():

    rule:
        name:
            f"{figure}_figure"
        input:
            f"results/tables/{table}.csv",
        output:
            svg=report(
                f"results/figures/{figure}.svg",
                caption=f"../report/captions/figure_{figure}.rst",
                category=category,
                labels={"content": figure, "kind": "figure"},
            ),
            pdf=f"results/figures/{figure}.pdf",
        log:
            f"results/logs/figures/{figure}.log",
        conda:
            "../envs/analysis.yaml"
        params:
            figure=figure,
            code=code_digest(
                "analysis.figures", "plots", "quality", "stats.schema", "tables"
            ),
        script:
            "../scripts/plot_figure.py"
