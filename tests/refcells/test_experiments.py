"""Experiments that are kept as data: what is kept is what the code says, and a sample of it comes out again."""

import json

import pytest

torch = pytest.importorskip("torch")

from refcells.experiments import Experiment, experiments, load, run  # noqa: E402
from refcells.experiments.__main__ import main  # noqa: E402

KNOWN = experiments()


@pytest.mark.parametrize("name", KNOWN)
def test_kept_results_have_the_settings_of_the_code(name):
    parts = KNOWN[name].parts
    recorded = load(name)
    kept = [
        {key: part[key] for key in settings} for part, settings in zip(recorded.parts, parts, strict=True)
    ]
    assert kept == [json.loads(json.dumps(settings)) for settings in parts]
    assert set(recorded.versions) == {"python", "numpy", "torch"}
    assert recorded.seconds > 0
    assert name in recorded.command


@pytest.mark.parametrize("name", KNOWN)
def test_a_sample_comes_out_again(name):
    experiment = KNOWN[name]
    assert experiment.sample
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for index in experiment.sample:
            settings = experiment.parts[index]
            assert experiment.close(load(name).parts[index], experiment.measure(**settings)), settings
    finally:
        torch.set_num_threads(threads)


def squares(fail_at=None):
    calls = []

    def measure(seed):
        calls.append(seed)
        if seed == fail_at:
            raise KeyboardInterrupt
        return {"square": seed**2}

    parts = [{"seed": seed} for seed in range(4)]
    return calls, Experiment("squares", measure, parts, [0], lambda a, b: a["square"] == b["square"])


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    calls, broken = squares(fail_at=2)
    with pytest.raises(KeyboardInterrupt):
        run(broken, tmp_path, progress=False)
    assert calls == [0, 1, 2]
    assert not (tmp_path / "squares.json").exists()
    calls, whole = squares()
    recorded = run(whole, tmp_path, progress=False)
    assert calls == [2, 3]
    assert [part["square"] for part in recorded.parts] == [0, 1, 4, 9]
    assert load("squares", tmp_path) == recorded
    assert recorded.where(seed=3) == [{"seed": 3, "square": 9}]
    assert [path.name for path in tmp_path.iterdir()] == ["squares.json"]


def test_changed_settings_start_anew(tmp_path):
    _, broken = squares(fail_at=2)
    with pytest.raises(KeyboardInterrupt):
        run(broken, tmp_path, progress=False)
    calls, other = squares()
    run(Experiment("squares", other.measure, [{"seed": 7}], [0], other.close), tmp_path, progress=False)
    assert calls == [7]


def test_unknown_names_are_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["nothing"])
    assert "no experiment 'nothing'" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no results of 'nothing'"):
        load("nothing", tmp_path)
    _, whole = squares()
    recorded = run(whole, tmp_path, progress=False)
    with pytest.raises(ValueError, match="no part has"):
        recorded.where(seed=9)
