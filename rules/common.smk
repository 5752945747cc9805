import sys
from pathlib import Path

from patchperf import workflow as study
from patchperf.config import load_config
from patchperf.errors import PatchperfError
from patchperf.isolation.host import host_class
from patchperf.study.instance import INSTANCE_ID
from patchperf.workflow import code_digest, tool_versions
from snakemake_logger_plugin_patchperf import follow


wildcard_constraints:
    instance=INSTANCE_ID,
    digest=r"[0-9a-f]+",
    notebook=r"[a-z]+",


try:
    study.check_folder(Path.cwd())
    CONFIG = load_config(config, ", ".join(map(str, workflow.configfiles)))
    INPUT_FILES = study.input_files(CONFIG, (Path(), Path(workflow.basedir)))
except PatchperfError as error:
    sys.exit(f"error: {error}")


def settings_file(rule, *keys):
    """An input: the settings that a rule depends on, in a file that is written anew when they change."""
    return study.settings_file(CONFIG, Path("results/settings"), rule, *keys)


def hold_working_directory():
    """Keep other runs out of this folder, then remove what a killed run left in scratch."""
    global WORKING_DIRECTORY
    try:
        WORKING_DIRECTORY = study.hold(Path("results"))
        clear_scratch()
    except PatchperfError as error:
        sys.exit(f"error: {error}")


def clear_scratch():
    study.clear_scratch(CONFIG, Path.cwd())


def warn_of_the_machine():
    for warning in study.host_warnings(Path("results/host.json")):
        logger.warning(warning)


# ---- tables that decide which jobs there are
#
# A rule's inputs wait for one checkpoint at most: of two that are both finished already, Snakemake sees only one. Where
# a checkpoint runs again and leaves no reason to run the next one, Snakemake starts what waits for the next one without
# its inputs: so each has the time of the one before as a parameter.


def read_table(path):
    try:
        return study.read_table(path)
    except PatchperfError as error:
        sys.exit(f"error: {error}")


def get_manifest():
    table = read_table(checkpoints.instances.get().output.table)
    return table[table.selected].set_index("instance_id")


def get_time_of_instances(wildcards):
    return Path(checkpoints.instances.get().output.table).stat().st_mtime_ns


def get_time_of_corpus(wildcards):
    return Path(checkpoints.corpus.get().output[0]).stat().st_mtime_ns


def get_corpus():
    table = read_table(checkpoints.corpus.get().output[0])
    return table.set_index("instance_id")


def get_cases():
    table = read_table(checkpoints.cases.get().output.cases)
    return table.drop_duplicates("instance_id").set_index("instance_id")


# ---- inputs and parameters by instance


def get_spec(stage):
    """A parameter: the digest of all that a stage's result for an instance depends on."""
    return lambda wildcards: get_manifest()[stage].get(
        wildcards.instance, "not in the study"
    )


def get_case(wildcards):
    return get_cases().case.get(wildcards.instance, "not a case")


def get_environment(wildcards):
    digest = get_manifest().environment.get(wildcards.instance)
    return f"results/environments/{digest}.json" if digest else []


def unless_image(environment):
    """An environment is named by its content and may be made anew; an image's name can come to stand for another one."""
    return environment if CONFIG.sandbox.kind == "docker" else ancient(environment)


def get_first_image(wildcards):
    """The image to try counters in: nothing with sandbox local."""
    manifest = get_manifest()
    run = manifest.environment[manifest.environment != ""].sort_index()
    return [
        f"results/environments/{digest}.json"
        for digest in run[:1]
        if CONFIG.sandbox.kind == "docker"
    ]


def get_kept_images(wildcards):
    """The images of cases, by which their measurements are named: nothing with sandbox local."""
    corpus = get_corpus()
    kept = get_manifest().environment.reindex(corpus.index[corpus.status == "kept"])
    return [
        f"results/environments/{digest}.json"
        for digest in kept.unique()
        if CONFIG.sandbox.kind == "docker"
    ]


def get_results_in_image(wildcards):
    """All that is run in an image, once it is known which of its instances are cases."""
    manifest = get_manifest()
    cases = get_cases()
    users = manifest.index[manifest.environment == wildcards.digest]
    graded = get_graded(read_table("results/corpus.parquet").set_index("instance_id"))
    return [
        *(f"results/probes/{name}.json" for name in users if manifest.f2p[name] == 1),
        *(f"results/grades/{name}.json" for name in users if name in graded),
        *(f"results/measurements/{name}.json" for name in users if name in cases.index),
        *(one for one in get_counted("json")(wildcards) if Path(one).stem in users),
    ]


def get_released(wildcards):
    """Images that were pulled for the study go when nothing more is run in them, if that is wanted."""
    if CONFIG.sandbox.kind != "docker" or not CONFIG.sandbox.images.remove:
        return []
    digests = get_manifest().environment.unique()
    return [f"results/released/{digest}.json" for digest in digests if digest]


def get_probes(wildcards):
    manifest = get_manifest()
    return [
        f"results/probes/{instance}.json"
        for instance in manifest.index[manifest.f2p == 1]
    ]


def get_kept_probes(wildcards):
    corpus = get_corpus()
    return [
        f"results/probes/{instance}.json"
        for instance in corpus.index[corpus.status == "kept"]
    ]


def get_graded(corpus):
    everyone = corpus.index[corpus.stage != "configuration"]
    return (
        everyone if CONFIG.grading == "all" else corpus.index[corpus.status == "kept"]
    )


def get_grades(wildcards):
    return [f"results/grades/{instance}.json" for instance in get_graded(get_corpus())]


def get_every_instance_result(wildcards):
    """What every instance and case has; the tables of earlier stages are there when the cases are."""
    cases = get_cases()
    manifest = read_table("results/instances.parquet")
    corpus = read_table("results/corpus.parquet").set_index("instance_id")
    probed = manifest.instance_id[manifest.selected & (manifest.f2p == 1)]
    return [
        *(f"results/probes/{instance}.json" for instance in probed),
        *(f"results/grades/{instance}.json" for instance in get_graded(corpus)),
        *(f"results/measurements/{instance}.parquet" for instance in cases.index),
        *get_counted("parquet")(wildcards),
    ]


def get_measured(kind):
    return lambda wildcards: [
        f"results/measurements/{instance}.{kind}" for instance in get_cases().index
    ]


def get_counted(kind):
    return lambda wildcards: [
        f"results/counts/{instance}.{kind}"
        for instance in get_cases().index
        if study.counts_separately(Path("results/host.json"))
    ]


def get_counted_patches(wildcards):
    return [f"results/quality/{instance}.json" for instance in get_graded(get_corpus())]
