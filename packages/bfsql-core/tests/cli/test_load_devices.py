"""Devices and endless pipes as sources of `bfsql load`."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest


def device(path: Path, minor: int) -> Path:
    """A device of memory: 3 is the null device, 5 is zero, 9 is urandom."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the numbers are those of Linux")
    if os.geteuid():
        pytest.skip("only the superuser may make a device")
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        path.open("rb").close()
    except PermissionError:
        pytest.skip("this system makes no devices, or opens none")
    return path


@pytest.mark.parametrize("minor", [5, 9])
def test_a_device_that_never_ends_is_not_a_source(run, folder, minor):
    wrong = run("load", str(device(folder / "endless.csv", minor)))
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert wrong.stderr == (
        f"{folder / 'endless.csv'}: this is a character device, which may never end; name a file "
        "or a pipe\n"
    )


def test_the_null_device_is_an_empty_source(run, folder):
    wrong = run("load", str(device(folder / "null.csv", 3)))
    assert wrong.exit_code == 2
    assert wrong.stderr.endswith(
        "null.csv: it was empty; did the command that writes to it fail?\n"
    )


def _load_standard_input(environment, source, **streams):
    return subprocess.run(
        [sys.executable, "-m", "bfsql", "load", source, "--format", "csv"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **streams,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("source", ["-", "/dev/stdin"])
def test_standard_input_may_be_a_pipe_but_no_device(folder, environment, source):
    assert _load_standard_input(environment, source, input="id\na\n").returncode == 0
    with device(folder / "zero", 5).open("rb") as zero:
        wrong = _load_standard_input(environment, source, stdin=zero)
    assert wrong.returncode == 2
    assert "this is a character device, which may never end" in wrong.stderr


# A disk of its own, in a namespace that ends with the command.
_ON_SMALL_DISK = """
mount -t tmpfs -o size=1300m tmpfs disk || exit 77
yes a | TMPDIR=$PWD/disk "$0" -m bfsql load - --format csv
code=$?
ls disk
exit $code
"""


def test_a_pipe_that_would_fill_the_disk_is_not_copied(folder, environment):
    (folder / "disk").mkdir()
    try:
        wrong = subprocess.run(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", _ON_SMALL_DISK, sys.executable],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    except FileNotFoundError:
        pytest.skip("there is no command unshare")
    if wrong.returncode in {1, 77} and "Operation not permitted" in wrong.stderr:
        pytest.skip("this user cannot mount a disk")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    (line,) = [line for line in wrong.stderr.splitlines() if "standard input" in line]
    assert "was copied to " in line
    assert "less than a tenth of the disk or less than 1 GB was left" in line
