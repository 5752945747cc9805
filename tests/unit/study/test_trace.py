"""The strace reader: hand-written logs with counts worked out by eye, and real traces of awkward programs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from patchperf.study.trace import LINE_BOUND, Window, WindowProblem, deciding_lines, read_window, strace_command

NONCE = "0123456789abcdef0123456789abcdef"
OTHER = "f" * 32
BEGIN = f'pwrite64(2</tmp/err>, "PATCHPERF {NONCE} begin\\n", 49, -1) = -1 EINVAL (Invalid argument)'
END = f'pwrite64(2</tmp/err>, "PATCHPERF {NONCE} end\\n", 47, -1) = -1 EINVAL (Invalid argument)'


def read(folder: Path, *lines: str, keep: int = 200) -> Window | WindowProblem:
    log = folder / "log"
    log.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return read_window(log, NONCE, keep)


def window(folder: Path, *lines: str, keep: int = 200) -> Window:
    found = read(folder, *lines, keep=keep)
    assert isinstance(found, Window), found
    return found


def problem(folder: Path, *lines: str) -> WindowProblem:
    found = read(folder, *lines)
    assert isinstance(found, WindowProblem), found
    return found


def names(found: Window) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for (name, _), count in found.counts.items():
        counts[name] += count
    return dict(counts)


def traced(folder: Path, body: str, *, before: str = "") -> Window | WindowProblem:
    """The window of a real trace of a program that runs ``body`` between the markers."""
    script = folder / "program.py"
    script.write_text(
        f"import os, sys, threading, time\nNONCE = {NONCE!r}\n"
        "def mark(which):\n    try: os.pwrite(2, f'PATCHPERF {NONCE} {which}\\n'.encode(), -1)\n"
        "    except OSError: pass\n"
        f"{textwrap.dedent(before)}\nmark('begin')\n{textwrap.dedent(body)}\nmark('end')\n"
    )
    log = folder / "log"
    with (folder / "out").open("wb") as out:
        subprocess.run(
            [*strace_command(str(log)), sys.executable, "-I", "-S", str(script)],
            stdout=out,
            stderr=out,
            check=False,
            timeout=30,
        )
    return read_window(log, NONCE)


def test_calls_between_the_markers_are_counted_and_others_are_not(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        '10    openat(AT_FDCWD</>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>',
        f"10    {BEGIN}",
        "10    getpid() = 10",
        "10    getpid()                          = 10",
        "10    brk(NULL) = 0x5614b7fde000",
        f"10    {END}",
        '10    openat(AT_FDCWD</>, "/etc/passwd", O_RDONLY) = 3</etc/passwd>',
        "10    +++ exited with 0 +++",
    )
    assert names(found) == {"getpid": 2, "brk": 1}
    assert (found.pid, found.begin_line, found.end_line) == (10, 2, 6)
    assert found.deciding == ()


def test_a_deciding_call_keeps_its_arguments_result_and_line(tmp_path: Path) -> None:
    found = window(tmp_path, f"10    {BEGIN}", '10    stat("/a", 0x7ffd) = -1 ENOENT (No such file)', f"10    {END}")
    [(call, kind)] = found.deciding
    assert (call.name, call.arguments, call.result, call.line, call.pid, kind) == (
        "stat",
        '"/a", 0x7ffd',
        "-1 ENOENT (No such file)",
        2,
        10,
        "file metadata",
    )


def test_lines_may_carry_absolute_times(tmp_path: Path) -> None:
    found = window(
        tmp_path, f"10    1700000000.000001 {BEGIN}", "10    1700000000.1 getpid() = 10", f"10    1700000001.0 {END}"
    )
    assert names(found) == {"getpid": 1}


def test_text_inside_arguments_that_looks_like_a_result_does_not_end_them(tmp_path: Path) -> None:
    found = window(
        tmp_path, f"10    {BEGIN}", r'10    write(7</tmp/x>, "f(x) = 3 <unfinished ...>\n", 26) = 26', f"10    {END}"
    )
    assert found.deciding[0][0].arguments == r'7</tmp/x>, "f(x) = 3 <unfinished ...>\n", 26'
    assert found.deciding[0][0].result == "26"


def test_a_call_cut_in_two_by_another_thread_is_joined(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "10    clone3({flags=CLONE_VM|CLONE_THREAD} => {parent_tid=[11]}, 88) = 11",
        f"10    {BEGIN}",
        "11    read(5</data/x>, <unfinished ...>",
        "10    getpid() = 10",
        '11    <... read resumed>"abc", 50000) = 3',
        f"10    {END}",
    )
    assert names(found) == {"read": 1, "getpid": 1}
    call = found.deciding[0][0]
    assert (call.arguments, call.result, call.process, call.line) == ('5</data/x>,"abc", 50000', "3", 10, 5)


def test_a_call_begun_before_the_window_counts_when_it_returns_inside(tmp_path: Path) -> None:
    thread = "10    clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 11"
    begun, resumed = "11    accept4(5<socket:[9]>,  <unfinished ...>", "11    <... accept4 resumed>NULL, NULL, 0) = 6"
    inside = window(tmp_path, thread, begun, f"10    {BEGIN}", resumed, f"10    {END}")
    assert names(inside) == {"accept4": 1}
    throughout = window(tmp_path, thread, begun, f"10    {BEGIN}", f"10    {END}", resumed)
    assert names(throughout) == {}


def test_a_call_begun_inside_counts_even_if_it_does_not_return_there(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "10    clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 11",
        f"10    {BEGIN}",
        "11    accept4(5<socket:[9]>,  <unfinished ...>",
        f"10    {END}",
        "11    <... accept4 resumed>NULL, NULL, 0) = 6",
    )
    assert names(found) == {"accept4": 1}
    assert found.deciding[0][0].result == ""


def test_a_marker_cut_in_two_opens_the_window_when_it_returns(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "10    clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 11",
        f'10    pwrite64(2</tmp/err>, "PATCHPERF {NONCE} begin\\n", 49, -1 <unfinished ...>',
        "11    sync() = 0",
        "10    <... pwrite64 resumed>) = -1 EINVAL (Invalid argument)",
        "11    getppid() = 1",
        f'10    pwrite64(2</tmp/err>, "PATCHPERF {NONCE} end\\n", 47, -1 <unfinished ...>',
        "11    sync() = 0",
        "10    <... pwrite64 resumed>) = -1 EINVAL (Invalid argument)",
    )
    assert names(found) == {"getppid": 1}
    assert found.begin_line == 4


def test_children_count_also_before_the_log_tells_whose_they_are(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        f"10    {BEGIN}",
        "10    vfork( <unfinished ...>",
        '12    execve("/bin/true", ["true"], 0x7f) = 0',
        "12    +++ exited with 0 +++",
        "10    <... vfork resumed>) = 12",
        "10    --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=12} ---",
        f"10    {END}",
    )
    assert names(found) == {"execve": 1, "vfork": 1}
    assert [call.name for call, _ in found.deciding] == ["execve", "vfork"]
    assert (found.signals, found.exits) == ({"SIGCHLD": 1}, 1)


def test_a_wrapper_and_its_other_children_are_not_the_test(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        '8     execve("/usr/bin/tox", ["tox"], 0x7f) = 0',
        "8     clone(child_stack=NULL, flags=SIGCHLD) = 10",
        "8     clone(child_stack=NULL, flags=SIGCHLD) = 20",
        f"10    {BEGIN}",
        f'8     read(5<pipe:[7]>, "PATCHPERF {NONCE} begin\\n", 4096) = 49',
        '20    openat(AT_FDCWD</>, "/x", O_RDONLY) = 3</x>',
        "8     vfork( <unfinished ...>",
        '21    execve("/bin/true", ["true"], 0x7f) = 0',
        "8     <... vfork resumed>) = 21",
        "10    getpid() = 10",
        f"10    {END}",
    )
    assert names(found) == {"getpid": 1}
    assert found.exits == 0


def test_a_child_whose_parent_died_still_belongs_to_the_test(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "10    clone(child_stack=NULL, flags=SIGCHLD) = 11",
        "11    clone(child_stack=NULL, flags=SIGCHLD) = 12",
        "11    +++ exited with 0 +++",
        f"10    {BEGIN}",
        '12    unlink("/tmp/x") = 0',
        f"10    {END}",
    )
    assert names(found) == {"unlink": 1}


def test_a_process_of_unknown_descent_counts(tmp_path: Path) -> None:
    found = window(tmp_path, "10    getpid() = 10", f"10    {BEGIN}", '77    unlink("/tmp/x") = 0', f"10    {END}")
    assert names(found) == {"unlink": 1}


def test_calls_of_a_child_after_the_end_do_not_count(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "10    clone(child_stack=NULL, flags=SIGCHLD) = 11",
        f"10    {BEGIN}",
        f"10    {END}",
        '11    unlink("/tmp/x") = 0',
    )
    assert names(found) == {}


def test_another_programs_marker_is_not_confused_with_ours(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        f"10    {BEGIN.replace(NONCE, OTHER)}",
        f"10    {BEGIN}",
        f"10    {END.replace(NONCE, OTHER)}",
        f'10    write(2</tmp/err>, "PATCHPERF {NONCE} end\\n", 47) = 47',
        f'10    pwrite64(1</tmp/out>, "PATCHPERF {NONCE} end\\n", 47, -1) = -1 EINVAL (Invalid argument)',
        f'10    pwrite64(2</tmp/err>, "say PATCHPERF {NONCE} end\\n", 51, -1) = -1 EINVAL (Invalid argument)',
        f"10    {END}",
    )
    assert names(found) == {"write": 1, "pwrite64": 3}


def test_a_marker_to_a_closed_descriptor_is_still_a_marker(tmp_path: Path) -> None:
    closed = f'pwrite64(2, "PATCHPERF {NONCE} end\\n", 47, -1) = -1 EBADF (Bad file descriptor)'
    assert window(tmp_path, f"10    {BEGIN}", f"10    {closed}").end_line == 2


def test_what_the_process_named_as_its_output_is_the_captured_stream_and_nothing_put_in_its_place(
    tmp_path: Path,
) -> None:
    mark = f'"PATCHPERF {NONCE} output\\n", 50, -1) = -1 EINVAL (Invalid argument)'
    found = window(
        tmp_path,
        f"10    pwrite64(1</tmp/#77>(deleted), {mark}",
        f"10    pwrite64(2</tmp/#79>(deleted), {mark}",
        "10    dup2(8</testbed/red.txt>, 1</tmp/#77>(deleted)) = 1</testbed/red.txt>",
        f"10    {BEGIN}",
        f"10    pwrite64(3</tmp/#78>(deleted), {mark}",
        '10    write(6</tmp/#77>(deleted), "hello", 5) = 5',
        '10    write(2</tmp/#79>(deleted), "hello", 5) = 5',
        '10    write(1</testbed/red.txt>, "hello", 5) = 5',
        '10    write(9</tmp/#78>(deleted), "hello", 5) = 5',
        f"10    {END}",
    )
    assert [call.arguments.partition(",")[0] for call, _ in found.deciding] == [
        "3</tmp/#78>(deleted)",
        "1</testbed/red.txt>",
        "9</tmp/#78>(deleted)",
    ]


def test_a_log_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    found = read_window(tmp_path / "none", NONCE)
    assert isinstance(found, WindowProblem)
    assert found.reason == "no log"


def test_a_log_without_markers_is_a_problem(tmp_path: Path) -> None:
    assert problem(tmp_path, "10    getpid() = 10").reason == "no begin marker"
    assert problem(tmp_path).reason == "no begin marker"
    assert problem(tmp_path, f"10    {END}").reason == "no begin marker"


def test_a_log_cut_in_the_middle_is_a_problem(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"10    {BEGIN}\n10    getpid() = 10\n10    wri")
    found = read_window(log, NONCE)
    assert isinstance(found, WindowProblem)
    assert found.reason == "no end marker"
    assert "line 3" in found.detail


def test_two_windows_are_a_problem(tmp_path: Path) -> None:
    found = problem(tmp_path, f"10    {BEGIN}", f"10    {END}", "10    getpid() = 10", f"10    {BEGIN}", f"10    {END}")
    assert found == WindowProblem("two windows", "begin markers in lines 1 and 4")
    assert problem(tmp_path, f"10    {BEGIN}", f"10    {BEGIN}", f"10    {END}").reason == "two windows"
    assert problem(tmp_path, f"10    {BEGIN}", f"11    {BEGIN}", f"10    {END}").reason == "two windows"


def test_a_wrapper_that_repeats_the_marker_does_not_make_two_windows(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        "8     clone(child_stack=NULL, flags=SIGCHLD) = 10",
        f"10    {BEGIN}",
        f"8     {BEGIN}",
        f"10    {END}",
        f"8     {END}",
    )
    assert (found.begin_line, found.end_line) == (2, 4)


def test_an_end_marker_of_another_thread_does_not_close_the_window(tmp_path: Path) -> None:
    fork = "10    clone(child_stack=NULL, flags=SIGCHLD) = 11"
    found = problem(tmp_path, f"10    {BEGIN}", fork, f"11    {END}", "10    +++ killed by SIGKILL +++")
    assert found.reason == "no end marker"
    assert "killed by SIGKILL" in found.detail
    assert "1 end marker" in found.detail
    assert names(window(tmp_path, f"10    {BEGIN}", fork, f"11    {END}", f"10    {END}")) == {
        "clone": 1,
        "pwrite64": 1,
    }


def test_unreadable_lines_are_a_problem_only_inside_the_window(tmp_path: Path) -> None:
    found = problem(tmp_path, f"10    {BEGIN}", "rubbish", "10    getpid(", f"10    {END}")
    assert found == WindowProblem("unreadable lines", "2 inside the window, first: 2, 3")
    assert names(window(tmp_path, "rubbish", f"10    {BEGIN}", f"10    {END}", "rubbish")) == {}


def test_bytes_that_are_no_text_are_tolerated(tmp_path: Path) -> None:
    found = window(tmp_path, f"10    {BEGIN}", '10    stat("/\udcff\udcfe\x00é", 0x7ffd) = 0', f"10    {END}")
    assert found.deciding[0][0].arguments.startswith('"/\\xff\\xfe')


def test_unknown_and_unnamed_calls_are_counted(tmp_path: Path) -> None:
    found = window(
        tmp_path,
        f"10    {BEGIN}",
        "10    syscall_0x270f(0x1, 0x2, 0x3, 0x4, 0x5, 0x6) = -1 ENOSYS (Function not implemented)",
        "10    ???() = ?",
        f"10    {END}",
    )
    assert [kind for _, kind in found.deciding] == ["unknown", "unknown"]


def test_only_the_first_deciding_calls_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    found = window(
        tmp_path, f"10    {BEGIN}", *(f'10    unlink("/{n}") = 0' for n in range(50)), f"10    {END}", keep=3
    )
    assert names(found) == {"unlink": 50}
    assert [call.line for call, _ in found.deciding] == [2, 3, 4]


def test_a_nonce_of_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nonce"):
        read_window(tmp_path / "log", "begin")


def test_memory_stays_bounded_for_many_and_for_endless_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as out:
        out.write(b"10    getpid() = 10\n" * 10_000)
        out.write(b'10    write(5</x>, "' + b"a" * (40 * LINE_BOUND) + b'", 9) = 9\n')
        out.write(f"10    {BEGIN}\n".encode())
        for child in range(100, 3_100):
            out.write(f'10    unlink("/{child}") = 0\n'.encode())
        out.write(b'10    write(5</x>, "' + b"a" * (40 * LINE_BOUND) + b'", 9) = 9\n')
        out.write(f"10    {END}\n".encode())
    tracemalloc.start()
    found = read_window(log, NONCE, keep=10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(found, Window), found
    assert names(found) == {"unlink": 3_000, "write": 1}
    assert log.stat().st_size > 5_000_000
    assert peak < 1_500_000


def test_a_real_trace_of_threads_has_the_calls_of_all_of_them(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        """
        threads = [threading.Thread(target=lambda: [os.stat("/") for _ in range(25)]) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        """,
    )
    assert isinstance(found, Window)
    assert sum(count for (_, ruling), count in found.counts.items() if ruling.io) == 100
    assert len({call.pid for call, _ in found.deciding}) == 4
    assert len({call.process for call, _ in found.deciding}) == 1


def test_a_real_child_that_execs_from_a_thread_is_followed(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        """
        child = os.fork()
        if child == 0:
            threading.Thread(target=os.execv, args=(sys.executable, [sys.executable, "-I", "-S", "-c", "0"])).start()
            time.sleep(10)
        os.waitpid(child, 0)
        """,
    )
    assert isinstance(found, Window)
    assert names(found)["execve"] == 1
    assert found.exits >= 2


def test_a_real_fork_that_runs_on_like_its_parent_does_not_close_the_window(tmp_path: Path) -> None:
    found = traced(tmp_path, "child = os.fork()\nif child: os.waitpid(child, 0); os.stat('/')")
    assert isinstance(found, Window)
    assert names(found)["newfstatat"] == 1
    assert names(found)["pwrite64"] == 1


def test_a_real_program_that_closes_or_replaces_descriptor_2_is_read(tmp_path: Path) -> None:
    replaced = traced(tmp_path, "os.dup2(os.open('/dev/null', os.O_WRONLY), 2)")
    assert isinstance(replaced, Window)
    closed = traced(tmp_path, "os.close(2)")
    assert isinstance(closed, Window)


def test_a_real_program_that_dies_inside_is_a_problem(tmp_path: Path) -> None:
    found = traced(tmp_path, "os.kill(os.getpid(), 9)")
    assert isinstance(found, WindowProblem)
    assert found.reason == "no end marker"
    assert "killed by SIGKILL" in found.detail


def test_a_real_program_that_never_ends_and_is_stopped_is_a_problem(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        "time.sleep(30)",
        before="import signal; signal.setitimer(signal.ITIMER_REAL, 0.2)",
    )
    assert isinstance(found, WindowProblem)
    assert found.reason == "no end marker"
    assert "killed by SIGALRM" in found.detail


def test_a_real_program_that_writes_the_marker_again_is_a_problem(tmp_path: Path) -> None:
    found = traced(tmp_path, "mark('begin')")
    assert isinstance(found, WindowProblem)
    assert found.reason == "two windows"


def test_lines_that_the_test_marks_go_with_the_calls_after_them_and_count_as_none(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        """
        line(7)
        os.stat("/a")
        line(9)
        thread = threading.Thread(target=os.stat, args=("/b",))
        thread.start(); thread.join()
        os.stat("/b")
        """,
        before="""
        import contextlib
        def line(number):
            with contextlib.suppress(OSError):
                os.write(-1, f"PATCHPERF {NONCE} line {number}\\n".encode())
        def quiet_stat(path, stat=os.stat):
            with contextlib.suppress(OSError):
                stat(path)
        os.stat = quiet_stat
        """,
    )
    assert isinstance(found, Window)
    assert names(found)["newfstatat"] == 3
    assert "write" not in names(found)
    lines = deciding_lines(tmp_path / "log", NONCE)
    assert not isinstance(lines, WindowProblem)
    looks = [(line.test_line, line.call.arguments.split('"')[1]) for line in lines if line.call.name == "newfstatat"]
    assert looks == [(7, "/a"), (9, "/b"), (9, "/b")]


def test_calls_without_meaning_for_the_verdict_are_not_traced(tmp_path: Path) -> None:
    found = traced(tmp_path, "[os.getppid() for _ in range(1000)]; os.stat('/')")
    assert isinstance(found, Window)
    assert names(found) == {"newfstatat": 1}


def test_a_real_child_left_running_counts_only_inside(tmp_path: Path) -> None:
    found = traced(
        tmp_path,
        """
        child = os.fork()
        if child == 0:
            time.sleep(0.3)
            os.unlink("/nonexistent") if False else os.access("/nonexistent", 0)
            os._exit(0)
        """,
    )
    assert isinstance(found, Window)
    assert "access" not in names(found)
    assert "faccessat" not in names(found)
