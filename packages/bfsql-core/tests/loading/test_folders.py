"""A load's exclusive working folder is removed by the load or, if it is killed, by the next one."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from bfsql.loading.folders import LOCK, working_folder

PREFIX = ".load."
KILLED = """
import os, signal, sys
from pathlib import Path
from bfsql.loading.folders import working_folder
with working_folder(Path(sys.argv[1]), ".load.", "killed") as folder:
    (folder / "half").write_text("of it")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_empty_and_goes_with_its_load(tmp_path: Path) -> None:
    with working_folder(tmp_path, PREFIX, "a") as folder:
        assert names(folder) == [LOCK]
        (folder / "file").touch()
    assert names(tmp_path) == []
    with pytest.raises(RuntimeError), working_folder(tmp_path, PREFIX, "a"):
        raise RuntimeError
    assert names(tmp_path) == []


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(working_folder(tmp_path, PREFIX, "a"))
        (first / "file").touch()
        with pytest.raises(BlockingIOError), working_folder(tmp_path, PREFIX, "a"):
            pass
        with working_folder(tmp_path, PREFIX, "b"):
            assert names(tmp_path) == [".load.a", ".load.b"]
        assert names(first) == ["file", LOCK]
    with working_folder(tmp_path, PREFIX, "a"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a matter of POSIX")
@pytest.mark.parametrize("name", ["killed", "another"])
def test_what_a_killed_load_left_is_removed_by_the_next(tmp_path: Path, name: str) -> None:
    subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False, timeout=60)
    assert names(tmp_path / ".load.killed") == ["half", LOCK]
    with working_folder(tmp_path, PREFIX, name) as folder:
        assert names(tmp_path) == [f".load.{name}"]
        assert names(folder) == [LOCK]


def test_what_no_load_made_stays(tmp_path: Path) -> None:
    (tmp_path / ".load.file").touch()
    (tmp_path / ".load.mine").mkdir()
    (tmp_path / ".load.mine" / "thesis").touch()
    (tmp_path / ".load.link").symlink_to(tmp_path / ".load.mine")
    before = names(tmp_path)
    with working_folder(tmp_path, PREFIX, "a"):
        pass
    assert names(tmp_path) == before
    assert names(tmp_path / ".load.mine") == ["thesis"]


def test_a_folder_of_another_user_is_left_alone(tmp_path: Path) -> None:
    if os.name != "posix" or os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    other = tmp_path / ".load.a"
    other.mkdir()
    (other / LOCK).touch()
    os.chown(other, 65534, 65534)
    with working_folder(tmp_path, PREFIX, "b"):
        assert names(other) == [LOCK]
    with (
        pytest.raises(PermissionError, match="another user"),
        working_folder(tmp_path, PREFIX, "a"),
    ):
        pass
