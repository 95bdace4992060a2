"""JupyterLab opens the text notebooks in solutions/ and the notebooks in exercises/ alike, as the instructor guide sets it up."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from built_site import ROOT, launched

pytest.importorskip("jupytext")

# The guide's one command, and where JupyterLab then reads what opens a Python file.
COMMAND = "jupytext-config set-default-viewer python"
KEPT = "labconfig/default_setting_overrides.json"
SETTING = {"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"python": "Jupytext Notebook"}}}


def configured(folder: Path) -> dict[str, str]:
    """An environment whose Jupyter has its settings in a folder, after the guide's command."""
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folder),
        "JUPYTERLAB_SETTINGS_DIR": str(folder / "user"),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / "workspaces"),
    }
    program, *arguments = COMMAND.split()
    subprocess.run(
        [Path(sys.executable).with_name(program), *arguments], env=environment, check=True, timeout=60
    )
    return environment


def test_the_guide_says_how():
    text = (ROOT / "book" / "instructor-guide.md").read_text(encoding="utf-8")
    assert COMMAND in text


def test_the_command_sets_what_opens_a_python_file(tmp_path):
    configured(tmp_path)
    assert json.loads((tmp_path / KEPT).read_text(encoding="utf-8")) == SETTING


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.parametrize("way", ["command", "overrides"])
def test_both_kinds_open_as_notebooks(tmp_path, way):
    """In JupyterLab itself: after the command, and with the same setting among an installation's overrides.json."""
    environment = configured(tmp_path / "config")
    extra = []
    if way == "overrides":
        (tmp_path / "config" / KEPT).unlink()
        (tmp_path / "settings").mkdir()
        (tmp_path / "settings" / "overrides.json").write_text(json.dumps(SETTING), encoding="utf-8")
        extra = [f"--LabApp.app_settings_dir={tmp_path / 'settings'}"]
    for name in ("solutions/lstm/scalar_lstm.py", "exercises/lstm/scalar_lstm.ipynb"):
        target = tmp_path / "course" / name
        target.parent.mkdir(parents=True)
        shutil.copy(ROOT / name, target)
    log = (tmp_path / "log").open("w")
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path / 'course'}", *extra]
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        address = None
        for _ in range(240):
            found = [
                word
                for word in (tmp_path / "log").read_text(encoding="utf-8").split()
                if word.startswith("http://127.0.0.1:") and not word.startswith("http://127.0.0.1:0")
            ]
            if found:
                address = found[0].split("/lab")[0].rstrip("/")
                break
            time.sleep(0.5)
        assert address, (tmp_path / "log").read_text(encoding="utf-8")[-2000:]
        urllib.request.urlopen(f"{address}/api/status", timeout=30).close()
        with launched() as browser:
            for name, cells in (
                ("solutions/lstm/scalar_lstm.py", 5),
                ("exercises/lstm/scalar_lstm.ipynb", 5),
            ):
                page = browser.new_page()
                page.set_default_timeout(180_000)
                page.goto(f"{address}/lab/tree/{name}")
                page.locator(".jp-Notebook .jp-Cell").nth(cells).wait_for(state="attached")
                assert page.locator(".jp-FileEditor").count() == 0, name
                page.close()
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()
