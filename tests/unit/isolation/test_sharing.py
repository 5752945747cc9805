"""What workflows do with partitions, on a machine where bringing them up and taking them down is only pretended."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from machines import machine

from patchperf.errors import MachineError
from patchperf.isolation import sharing
from patchperf.isolation.plan import Group, Plan, Sizes, choose
from patchperf.isolation.sharing import use
from patchperf.isolation.state import State, Tuning, boot, forget_state, read_state, write_state
from patchperf.isolation.switch import USERS
from patchperf.isolation.topology import Topology

SERVER = machine("node 0: 0+1 2+3 ... 22+23")
REFUSED = "the kernel does not want to"


class Machine:
    """What was asked of it, and whether it refuses."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuses = False

    def up(self, wanted: object, **_: object) -> None:
        self.asked.append("up")
        if self.refuses:
            raise MachineError(REFUSED)

    def down(self, folder: Path, *, only_unused: bool) -> bool:
        assert only_unused
        self.asked.append("in use" if in_use(folder) else "down")
        return not in_use(folder)


def in_use(folder: Path) -> bool:
    with (folder / USERS).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def planned(weaker: str):
    def plan_of(topology: Topology, no_partitions: str | None) -> Plan:
        return choose(topology, Sizes(), "partition", weaker, no_partitions)  # type: ignore[arg-type]

    return plan_of


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Machine:
    one = Machine()
    monkeypatch.setattr(sharing, "up", one.up)
    monkeypatch.setattr(sharing, "down", one.down)
    monkeypatch.setattr(sharing, "problem", lambda _: None)
    monkeypatch.setattr(sharing, "read_topology", lambda **_: SERVER)
    return one


def test_the_last_of_two_takes_the_partitions_down(pretended: Machine, tmp_path: Path):
    first, second = (use(planned("refuse"), "root", 4096, Tuning(), tmp_path) for _ in range(2))
    assert first.plan.level == "partition"
    assert not first.end()
    assert second.end()
    assert not second.end()
    assert pretended.asked == ["up", "up", "in use", "down"]


def test_a_machine_that_refuses_partitions_gives_less_only_where_that_is_allowed(pretended: Machine, tmp_path: Path):
    pretended.refuses = True
    with pytest.raises(MachineError, match=rf"^isolation partition: {REFUSED}; isolation.weaker: allow"):
        use(planned("refuse"), "root", 4096, Tuning(), tmp_path)
    less = use(planned("allow"), "root", 4096, Tuning(), tmp_path)
    assert (less.plan.level, less.end()) == ("affinity", False)
    assert not in_use(tmp_path)
    assert pretended.asked == ["up", "up"]


def test_nothing_is_brought_up_for_a_weaker_level(pretended: Machine, tmp_path: Path):
    alone = use(lambda topology, _: choose(topology, Sizes(), "affinity", "refuse"), "root", 0, Tuning(), tmp_path)
    assert (alone.plan.level, alone.end(), pretended.asked) == ("affinity", False, [])


def state(boot_id: str) -> State:
    return State(
        boot=boot_id,
        finished=True,
        by_hand=False,
        kind="root",
        memory_mb=4096,
        plan=Plan("partition", (Group(0, (6, 8), (7, 9), 0),), (0, 1), (2,), (3,), ("a note",)),
        allowed=tuple(range(10)),
        controllers=("cpuset",),
        confined=(),
        affinities=(),
        tuning=Tuning(turbo=False),
        tuned=(),
    )


def test_what_is_noted_down_is_read_as_it_was(tmp_path: Path):
    assert read_state(tmp_path / "none") is None
    written = state(boot())
    write_state(written, tmp_path)
    assert read_state(tmp_path) == written
    assert [file.name for file in tmp_path.iterdir()] == ["isolation.json"]
    forget_state(tmp_path)
    assert read_state(tmp_path) is None


def test_what_was_up_before_the_machine_was_started_is_not_up(tmp_path: Path):
    write_state(state("another start"), tmp_path)
    assert read_state(tmp_path) is None


def test_notes_that_cannot_be_understood_are_an_error_with_what_to_do(tmp_path: Path):
    (tmp_path / "isolation.json").write_text('{"format": 0}')
    with pytest.raises(MachineError, match=r"isolation.json is not what this version writes \(.*: run `patchperf iso"):
        read_state(tmp_path)


def test_where_nothing_can_be_noted_down_nothing_is_changed(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(MachineError, match="so nothing is changed: "):
        write_state(state(boot()), tmp_path / "file")
