# The self-contained report: Snakemake's own, made by a nested call once everything it shows is there.


rule reported:
    input:
        ANALYSIS,


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
