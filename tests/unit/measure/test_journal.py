from __future__ import annotations

import resource

import pytest

from patchperf.errors import InputError, MachineError
from patchperf.measure.journal import open_journal, read_journal

DIGEST = "c0ffee" * 10 + "beef"


@pytest.fixture
def path(tmp_path, make_entry):
    path = tmp_path / "case" / f"{DIGEST}.jsonl"
    with open_journal(path, DIGEST) as journal:
        for replicate in range(3):
            journal.append(make_entry(replicate=replicate))
    return path


def test_what_was_appended_is_read_back_equal(path, make_entry):
    assert read_journal(path, DIGEST) == [make_entry(replicate=replicate) for replicate in range(3)]
    with open_journal(path, DIGEST) as journal:
        assert journal.entries == read_journal(path, DIGEST)


@pytest.mark.parametrize("torn", [b'{"digest": "c0f', b"\0" * 40, b"\0" * 40 + b"\n", b'{"half": \n'])
def test_a_torn_last_line_is_cut_off_and_the_journal_goes_on(path, torn, make_entry):
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    with open_journal(path, DIGEST) as journal:
        assert len(journal.entries) == 3
        assert path.read_bytes() == whole
        journal.append(make_entry(replicate=3))
    assert [entry.replicate for entry in read_journal(path, DIGEST)] == [0, 1, 2, 3]


def test_a_last_line_without_its_end_is_torn_even_if_it_reads_well(path):
    path.write_bytes(path.read_bytes()[:-1])
    assert len(read_journal(path, DIGEST)) == 2


def test_every_cut_of_the_file_keeps_the_whole_lines_before_it(path):
    whole = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        assert len(read_journal(path, DIGEST)) == sum(end <= length for end in ends)


def test_an_entry_of_another_case_is_refused_with_its_line(path, make_entry):
    with path.open("a") as file:
        file.write(make_entry(digest="other").model_dump_json() + "\n")
    with pytest.raises(InputError, match=r"line 4: not of case c0ffee.*delete the file"):
        read_journal(path, DIGEST)
    with open_journal(path.with_name("new.jsonl"), DIGEST) as journal, pytest.raises(InputError, match="other"):
        journal.append(make_entry(digest="other"))


def test_an_entry_of_another_version_is_refused(path, make_entry):
    entry = make_entry().model_dump_json().replace('"stage":', '"phase":')
    path.write_bytes(entry.encode() + b"\n" + path.read_bytes())
    with pytest.raises(InputError, match="line 1: written by another version"):
        read_journal(path, DIGEST)


def test_damage_in_the_middle_is_not_taken_for_a_torn_end(path):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + lines[2])
    with pytest.raises(InputError, match="line 2: not JSON"):
        read_journal(path, DIGEST)


def test_two_processes_cannot_measure_one_case(path):
    with open_journal(path, DIGEST):
        with pytest.raises(MachineError, match="another process is measuring this case"), open_journal(path, DIGEST):
            pass
        assert len(read_journal(path, DIGEST)) == 3


def test_what_cannot_be_written_whole_is_not_written_at_all(path, make_entry):
    """A file size limit stands for the full disk: the write stops somewhere within the line."""
    whole = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_journal(path, DIGEST) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 100, hard))
        try:
            with pytest.raises(MachineError, match=r"cannot write \(File too large\).*what is in it is kept"):
                journal.append(make_entry(replicate=3))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == whole
        assert len(journal.entries) == 3
        journal.append(make_entry(replicate=3))
    assert len(read_journal(path, DIGEST)) == 4
