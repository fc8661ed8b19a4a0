"""Builds wheel and sdist, installs each into an empty environment, and runs the demo there: `make dist`.

`make dist PYTHONS="3.11 3.14"` names versions of Python. One that is neither on the PATH nor among those of
pyenv and uv is skipped, and the last line says so.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
# The least of five, of the processor's time: what is measured is the import, not the machine's other work.
SECONDS = """
import subprocess, sys
def once(code):
    asked = [sys.executable, "-c", f"{code}; import time; print(time.process_time())"]
    return float(subprocess.run(asked, check=True, capture_output=True).stdout)
least = [min(once(code) for _ in range(5)) for code in ("pass", "import numpy", "import arrows")]
print("seconds until Python has started {:.2f}, NumPy {:.2f}, arrows {:.2f}".format(*least))
"""


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Runs a command, without what the shell says of other environments; fails where it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(command, cwd=cwd, env=kept, check=True)


def python_of(version: str) -> str | None:
    """The path of a Python of a version, such as "3.14"; None if none is here."""
    root = os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")
    asked = f"import sys; sys.exit('%d.%d' % sys.version_info[:2] != {version!r})"
    found = [f"python{version}", *glob.glob(f"{root}/versions/{version}.*/bin/python")]
    if shutil.which("uv"):
        uv = subprocess.run(["uv", "python", "find", version], capture_output=True, text=True, check=False)
        found.append(uv.stdout.strip())
    for python in filter(shutil.which, found):
        # Asking beats looking: version managers put commands on the PATH that only say they are not there.
        if not subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode:
            return python
    return None


def check(python: str, package: Path) -> None:
    """Installs a package into an empty environment, and trains the demo's model there for a moment."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder)
        run(python, "-m", "venv", there / "venv")
        inside = there / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package)
        run(
            inside,
            "-m",
            "arrows",
            "demo",
            "--examples",
            "200",
            "--epochs",
            "1",
            "((not good) film)",
            cwd=there,
        )
        run(inside, "-c", SECONDS, cwd=there)


def main(versions: list[str]) -> int:
    """Builds and checks; the exit status is 1 if no version of Python was found."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST)
    packages = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *packages)
    pythons = {version: python_of(version) for version in versions}
    for version, python in pythons.items():
        for package in packages if python else ():
            print(f"\n{package.name} on Python {version}", flush=True)
            check(str(python), package)
    missing = [version for version, python in pythons.items() if not python]
    print(f"\nchecked on Python {', '.join(sorted({*versions} - {*missing}))}", end="")
    print(f"; not here, and skipped: {', '.join(missing)}" if missing else "")
    return len(missing) == len(versions)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
