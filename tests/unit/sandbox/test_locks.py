import subprocess
import sys
import time
from pathlib import Path

from patchperf.sandbox.locks import exclusive

TRY = "import fcntl, sys; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def is_free(path: Path) -> bool:
    return subprocess.run([sys.executable, "-c", TRY, str(path)], capture_output=True, check=False).returncode == 0


def test_the_lock_is_held_inside_the_block_and_free_after_it(tmp_path: Path) -> None:
    path = tmp_path / "below" / "a.lock"
    with exclusive(path):
        assert not is_free(path)
    assert is_free(path)


def test_a_child_with_the_descriptor_keeps_the_lock_when_its_parent_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    holder = (
        "import subprocess, sys, time; from pathlib import Path; from patchperf.sandbox.locks import exclusive\n"
        "with exclusive(Path(sys.argv[1])) as lock:\n"
        "    subprocess.Popen(['sleep', '1'], pass_fds=(lock,)); print('held', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", holder, str(path)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"held\n"
        parent.kill()
    assert not is_free(path)
    deadline = time.monotonic() + 10
    while not is_free(path):
        assert time.monotonic() < deadline
        time.sleep(0.05)
