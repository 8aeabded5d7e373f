"""A certificate for a server at 127.0.0.1, and the authority that vouches for it."""

import shutil
import subprocess
from pathlib import Path

from bfsql_test_support.servers.port import HOST

CA = "ca.pem"
"""Certificate of the authority."""
CERTIFICATE, KEY = "public.crt", "private.key"
"""Certificate and key of the server, as Neo4j names them."""
DAYS = "3"


def make_certificates(folder: Path) -> bool:
    """Write `CA`, `CERTIFICATE` and `KEY` into a folder that it makes; False without `openssl`."""
    if shutil.which("openssl") is None:
        return False
    folder.mkdir(parents=True)
    (folder / "server").write_text(f"subjectAltName=IP:{HOST}\nauthorityKeyIdentifier=keyid\n")
    signed = ["-in", "asked.csr", "-CA", CA, "-CAkey", "ca.key", "-CAcreateserial"]
    new = ["-newkey", "rsa:2048", "-nodes", "-subj"]
    usage = ["-addext", "keyUsage=critical,keyCertSign"]  # required from Python 3.13 on
    for command in (
        ["req", "-x509", *new, "/CN=tests", *usage, "-days", DAYS, "-keyout", "ca.key", "-out", CA],
        ["req", *new, "/CN=server", "-keyout", KEY, "-out", "asked.csr"],
        ["x509", "-req", *signed, "-extfile", "server", "-days", DAYS, "-out", CERTIFICATE],
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True, cwd=folder)
    return True
