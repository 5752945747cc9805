# What people read: where the numbers come from, pages of all cases, notebooks, and the self-contained report.

# All settings but those of the folders that a study works in.
SETTINGS = sorted(type(CONFIG).model_fields.keys() - {"cache", "scratch"})

# Tables that the pages of cases show.
SHOWN = ["cases", "solutions", "pairs", "warmth", "outcomes", "ledger", "contrasts"]

NOTEBOOKS = ["results", "case"]


rule provenance:
    input:
        inputs="results/inputs.json",
        host="results/host.json",
        measurements="results/measurements.parquet",
        cases="results/cases.parquet",
        ledger="results/ledger.parquet",
        rows="results/instances",
        images=get_kept_images,
        settings=settings_file("study", *SETTINGS),
    output:
        record="results/provenance.json",
        page=report(
            "results/provenance.html",
            caption="../report/captions/provenance.rst",
            category="Provenance",
            labels={"content": "provenance", "kind": "page"},
        ),
    log:
        "results/logs/provenance.log",
    conda:
        "../envs/analysis.yaml"
    params:
        code=code_digest("pages", "software", "study.origins", "tables"),
    script:
        "../scripts/tell_provenance.py"


rule case_pages:
    input:
        **{table: f"results/tables/{table}.csv" for table in SHOWN},
        records="results/ledger.parquet",
        members="results/cases.parquet",
        measurements="results/measurements.parquet",
        rows="results/instances",
        provenance="results/provenance.json",
    output:
        directory("results/pages"),
    log:
        "results/logs/case_pages.log",
    conda:
        "../envs/analysis.yaml"
    params:
        code=code_digest("pages", "stats.schema", "tables"),
    script:
        "../scripts/write_pages.py"


rule notebook:
    input:
        ANALYSIS,
        cases="results/cases.parquet",
        ledger="results/ledger.parquet",
        measurements="results/measurements.parquet",
        notebook=Path(workflow.basedir, "notebooks", "{notebook}.ipynb"),
    output:
        executed="results/notebooks/{notebook}.ipynb",
        page=report(
            "results/notebooks/{notebook}.html",
            caption="../report/captions/notebook.rst",
            category="Notebooks",
            labels={"content": "{notebook}", "kind": "page"},
        ),
    log:
        "results/logs/notebooks/{notebook}.log",
    conda:
        "../envs/notebooks.yaml"
    params:
        code=code_digest("notebooks", "pages", "plots", "results", "tables"),
    script:
        "../scripts/run_notebook.py"


rule reported:
    input:
        ANALYSIS,
        rules.provenance.output,
        expand("results/notebooks/{notebook}.html", notebook=NOTEBOOKS),


rule report:
    input:
        rules.reported.input,
        captions=sorted(map(str, Path(workflow.basedir, "report").rglob("*.rst"))),
    output:
        "results/report.html",
    log:
        "results/logs/report.log",
    conda:
        "../envs/report.yaml"
    script:
        "../scripts/write_report.py"
