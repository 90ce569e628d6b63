"""A saved model gives the same scores in another process, and other files raise an error."""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import milopt
from milopt import RBF, ConvexConcave, Linear, Options, Polynomial, Precomputed, load_model
from milopt.archive import pack_archive
from milopt.bag_kernels.gram_file import load_gram
from milopt.bag_kernels.set_kernels import SetKernel
from milopt.errors import DeclarationError, ModelFileError
from milopt.estimator.encoding import decode
from milopt.estimator.probes import MAX_PROBE_BAGS, MAX_PROBE_INSTANCES, _choose_probes
from milopt.models import MILES, MISVM, SetKernelSVM
from milopt.solving import registry
from tests.estimator.conftest import MODELS

SCORES = """
import json, sys
import numpy as np
import milopt

bags = np.load(sys.argv[1])
bags = [bags[name] for name in bags]
for path in sys.argv[2:]:
    model = milopt.load_model(path)
    print(json.dumps([model.decision_function(bags).tolist(), model.report().as_dict(), repr(model)]))
"""


class UnregisteredModel(MISVM):
    """Model class that is not registered."""

    extra: int = 1


@pytest.fixture(scope="module")
def fitted(data):
    return SetKernelSVM().fit(data.bags, data.y)


@pytest.fixture
def saved(fitted, tmp_path) -> Path:
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


def read_contents(path: Path) -> tuple[dict, dict[str, np.ndarray]]:
    """Return the header and the arrays of a file, which is an ordinary zip archive."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        return header, {name.removesuffix(".npy"): np.load(io.BytesIO(archive.read(name))) for name in names}


def rewrite_file(path: Path, header: dict, arrays: dict[str, np.ndarray]) -> Path:
    """Write a file with this content and a valid checksum."""
    path.write_bytes(pack_archive(json.dumps(header).encode(), arrays))
    return path


def test_another_process_gets_the_same_scores_and_the_same_reports(data, tmp_path) -> None:
    models = [cls().fit(data.bags, y) for cls in map(registry.model_class, MODELS) for y in (data.y, data.y3)]
    paths = [str(tmp_path / str(number)) for number in range(len(models))]
    for model, path in zip(models, paths, strict=True):
        model.save(path)
    np.savez(tmp_path / "bags.npz", *data.bags)
    command = [sys.executable, "-c", SCORES, str(tmp_path / "bags.npz"), *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for model, line in zip(models, done.stdout.splitlines(), strict=True):
        scores, report, shown = json.loads(line)
        np.testing.assert_allclose(scores, model.decision_function(data.bags), rtol=0, atol=1e-12)
        assert report == json.loads(json.dumps(model.report().as_dict()))
        assert shown == repr(model)


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": Linear()},
        {"kernel": Polynomial(2, 0.5, 1.0)},
        {"kernel": RBF("4/median"), "scale": "zscore", "class_weight": {"no": 2.0}},
        {"scheme": ConvexConcave(start=np.ones((36, 3)), max_steps=9), "solver": ("native", "clarabel")},
        {"options": Options(time_limit=30.0, extra={"max_iter": 100}), "solver": "clarabel"},
        {"random_state": np.random.RandomState(3), "class_weight": "balanced"},
    ],
)
def test_hyper_parameters_of_every_type_are_restored(parameters, data, tmp_path) -> None:
    model = MISVM(**parameters).fit(data.bags, data.y)
    model.save(tmp_path / "model")
    twin = load_model(tmp_path / "model")
    np.testing.assert_allclose(
        twin.decision_function(data.bags), model.decision_function(data.bags), rtol=0, atol=1e-12
    )
    for name, value in model.get_params(deep=False).items():
        back = getattr(twin, name)
        if isinstance(value, np.random.RandomState):
            assert isinstance(back, int)  # the seed drawn from the generator
        else:
            assert repr(back) == repr(value)
            assert type(back) is type(value)
    assert twin.report().as_dict() == model.report().as_dict()
    for name in ("witnesses", "duals", "values"):
        for key, array in getattr(model.result_, name).items():
            np.testing.assert_array_equal(getattr(twin.result_, name)[key], array)
    assert twin.result_.history == model.result_.history
    assert twin.result_.attempts == model.result_.attempts
    twin.fit(data.bags, data.y)


def test_precomputed_kernels_sparse_instances_and_object_labels_are_saved(data, tmp_path) -> None:
    sizes = [len(bag) for bag in data.bags]
    rows = np.split(np.arange(float(sum(sizes)))[:, None], np.cumsum(sizes)[:-1])
    X = np.concatenate(data.bags)
    gram = RBF()((X - X.mean(0)) / X.std(0), (X - X.mean(0)) / X.std(0))
    sparse = [sp.csr_array(bag) for bag in data.bags]
    for model, bags in ((MILES(kernel=Precomputed(gram)), rows), (MILES(), sparse)):
        model.fit(bags, data.y3.astype(object)).save(tmp_path / "model")
        twin = load_model(tmp_path / "model")
        assert twin.classes_.dtype == object
        assert twin.predict(bags).tolist() == model.predict(bags).tolist()
        np.testing.assert_array_equal(twin.decision_function(bags), model.decision_function(bags))


def test_the_same_model_makes_the_same_file(fitted, saved, tmp_path) -> None:
    fitted.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()
    load_model(saved).save(tmp_path / "third")
    assert (tmp_path / "third").read_bytes() == saved.read_bytes()


def test_changes_after_the_fit_are_not_saved(data, tmp_path) -> None:
    model = SetKernelSVM(C=2.0).fit(data.bags, data.y)
    scores = model.decision_function(data.bags)
    model.set_params(C=5.0, kernel=Linear()).save(tmp_path / "model")
    twin = load_model(tmp_path / "model")
    assert twin.C == 2.0
    np.testing.assert_array_equal(twin.decision_function(data.bags), scores)


# -- values that cannot be saved --------------------------------------------------------------------------------------


def test_code_cannot_be_saved_and_nothing_is_written(data, tmp_path) -> None:
    model = SetKernelSVM(kernel=milopt.declaration.kernels.kernel.CallableKernel(lambda A, B: A @ B.T)).fit(
        data.bags, data.y
    )
    (tmp_path / "model").write_text("precious")
    with pytest.raises(
        ModelFileError, match=r"its hyper-parameter kernel is CallableKernel\(<lambda>\): .* but not code"
    ):
        model.save(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert (tmp_path / "model").read_text() == "precious"


def test_a_path_that_cannot_be_written_raises_an_error(fitted, tmp_path) -> None:
    with pytest.raises(ModelFileError, match=r"cannot be written to .*: No such file or directory"):
        fitted.save(tmp_path / "no" / "model")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match=r"cannot be written to .*: Is a directory"):
        fitted.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


# -- files that are not models -----------------------------------------------------------------------------


def test_any_changed_byte_is_detected(saved, tmp_path) -> None:
    content = saved.read_bytes()
    draw = np.random.default_rng(0)
    places = {*range(80), *range(len(content) - 300, len(content)), *draw.integers(len(content), size=300).tolist()}
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 1 << int(draw.integers(8))
        saved.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"is damaged|is not a model"):
            load_model(saved)


def test_a_truncated_file_raises_an_error(saved) -> None:
    content = saved.read_bytes()
    for length in (0, 1, 64, 100, len(content) // 2, len(content) - 65, len(content) - 1):
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="is not a model saved by milopt, or the file is truncated"):
            load_model(saved)


def test_other_files_raise_an_error(tmp_path) -> None:
    np.savez(tmp_path / "foreign.npz", header=np.arange(3))
    (tmp_path / "text").write_text("model")
    for name in ("foreign.npz", "text"):
        with pytest.raises(ModelFileError, match="is not a model saved by milopt"):
            load_model(tmp_path / name)
    with pytest.raises(ModelFileError, match="cannot be read: No such file"):
        load_model(tmp_path / "nothing")
    with pytest.raises(ModelFileError, match="cannot be read: Is a directory"):
        load_model(tmp_path)


def test_a_newer_format_and_an_unknown_model_raise_an_error(saved) -> None:
    header, arrays = read_contents(saved)
    with pytest.raises(ModelFileError, match=r"saved by milopt 9\.0 in format 3, and milopt .* reads formats up to 2"):
        load_model(rewrite_file(saved, header | {"format": 3, "milopt": "9.0"}, arrays))
    for wrong in ({"model": [1]}, {"class": "\n"}, {"milopt": "9" * 1000}, {"format": "2"}, {"format": 10**300}):
        with pytest.raises(ModelFileError, match=r"does not have the content of a saved model \([^)]{,100}\)\.$"):
            load_model(rewrite_file(saved, header | wrong, arrays))
    for name in ("os:system", "milopt.models.mi_svm:MISVM", "my-model"):
        with pytest.raises(ModelFileError, match=f"the model '{name}', which is not registered here"):
            load_model(rewrite_file(saved, header | {"model": name}, arrays))


def test_an_unregistered_class_must_be_given_and_is_never_imported(data, tmp_path) -> None:
    model = UnregisteredModel(extra=4).fit(data.bags, data.y)
    model.save(tmp_path / "model")
    with pytest.raises(
        ModelFileError, match="holds a UnregisteredModel, which is not a registered model: give its class"
    ):
        load_model(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds a UnregisteredModel, not a MISVM"):
        load_model(tmp_path / "model", model=MISVM)
    with pytest.raises(DeclarationError, match=r"must be a class derived from milopt\.BagClassifier"):
        load_model(tmp_path / "model", model=dict)
    twin = load_model(tmp_path / "model", model=UnregisteredModel)
    assert (type(twin), twin.extra) == (UnregisteredModel, 4)
    np.testing.assert_array_equal(twin.decision_function(data.bags), model.decision_function(data.bags))


def test_an_invalid_header_raises_an_error_of_one_sentence(saved) -> None:
    """The checksum is valid, but a part of the content is missing or has another type."""
    header, arrays = read_contents(saved)
    broken = [{k: v for k, v in header.items() if k != key} for key in header]
    for key in header:
        broken += [header | {key: lie} for lie in (None, [], {}, {"a": "os"}, {"array": "none"}, "x", 10**400)]
    answer = header["answers"][0]
    broken += [header | {"answers": [{k: v for k, v in answer.items() if k != key}]} for key in answer]
    broken += [header | {"answers": [answer | {key: {"number": "nan"}}]} for key in answer if key != "objective"]
    fine = 0
    for lie in broken:
        message = ""
        try:
            load_model(rewrite_file(saved, lie, arrays))
        except ModelFileError as error:
            message = str(error)
        fine += not message
        assert "\n" not in message
    # Some parts are not checked: the version, the names of features, and parts that are only reported.
    assert fine < len(broken) / 4
    with pytest.raises(ModelFileError, match="does not have the content of a saved model"):
        load_model(rewrite_file(saved, header, {name: array.ravel()[:0] for name, array in arrays.items()}))


def test_a_file_of_format_1_has_no_probes_and_is_read(saved, fitted, data) -> None:
    header, arrays = read_contents(saved)
    del header["probes"]
    with pytest.raises(ModelFileError, match=r"does not have the content of a saved model \(probes\)"):
        load_model(rewrite_file(saved, header, arrays))
    twin = load_model(rewrite_file(saved, header | {"format": 1}, arrays))
    np.testing.assert_array_equal(twin.decision_function(data.bags), fitted.decision_function(data.bags))


def test_options_of_a_file_with_the_former_name_of_the_primal_form_are_read() -> None:
    assert decode({"a": "Options", "form": "coordinates"}, {}) == Options(form="primal")


def test_a_file_with_the_former_spelling_of_normalise_is_read(data, tmp_path) -> None:
    model = SetKernelSVM(normalise="sum").fit(data.bags, data.y)
    model.save(tmp_path / "model")
    header, arrays = read_contents(tmp_path / "model")
    for parameters in (header["parameters"], header["declared with"]):
        parameters["normalize"] = parameters.pop("normalise")
    loaded = load_model(rewrite_file(tmp_path / "model", header, arrays))
    assert loaded.normalise == "sum"
    np.testing.assert_array_equal(loaded.decision_function(data.bags), model.decision_function(data.bags))
    code = {"a": "SetKernel", "kernel": {"a": "RBF", "s": 0.5}, "normalize": "sum", "power": 1}
    assert decode(code, {}) == SetKernel(RBF(0.5), normalise="sum")


def test_a_model_that_scores_its_training_bags_differently_raises_an_error(saved) -> None:
    """Change every array that scores depend on: coefficients, points, scaling, and the saved scores."""
    header, arrays = read_contents(saved)
    _, coefficients = (part["array"] for part in header["answers"][0]["functions"]["f"])
    probes, scaling = header["probes"]["tuple"], header["scaling"]
    scored, given = "do not have the scores that they had", "or their scaling are not those that were saved"
    for name, message in (
        (coefficients, scored),
        (probes[1]["array"], scored),
        (probes[0]["bags"][0]["array"], given),
        (scaling["divisor"]["array"], given),
        (scaling["shift"]["array"], given),
    ):
        with pytest.raises(ModelFileError, match=message):
            load_model(rewrite_file(saved, header, arrays | {name: arrays[name] * 1.01}))


def test_few_bags_of_a_large_training_set_are_saved_with_their_scores() -> None:
    assert _choose_probes(np.full(10, 3)).tolist() == list(range(10))
    chosen = _choose_probes(np.full(1000, 4))
    assert (chosen.size, chosen[0], chosen[-1]) == (MAX_PROBE_BAGS, 0, 999)
    sizes = np.tile([1, 400], 20)
    assert sizes[_choose_probes(sizes)].sum() <= MAX_PROBE_INSTANCES
    assert _choose_probes(np.array([9000, 800, 7000])).tolist() == [1]


def test_labels_that_are_not_valid_text_are_not_saved(data, tmp_path) -> None:
    model = SetKernelSVM().fit(data.bags, np.where(data.y == "yes", "\ud800", "no"))
    with pytest.raises(ModelFileError, match="classes_ is not valid text"):
        model.save(tmp_path / "model")


def overlapping_archive(header: bytes, count: int) -> bytes:
    """Return a zip archive of `count` arrays, each of which contains all following ones."""
    tail, directory, places = b"", [], []
    for k in reversed(range(count)):
        described = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({len(tail)},), }}".ljust(117).encode() + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(described).to_bytes(2, "little") + described + tail
        name = f"{k:04d}.npy".encode()
        fields = (20, 0, 0, 0, 33, zlib.crc32(data), len(data), len(data), len(name))
        tail = b"PK\x03\x04" + struct.pack("<5H3I2H", *fields, 0) + name + data
        directory.append((name, fields))
        places.append(len(tail))
    name = b"header.json"
    fields = (20, 0, 0, 0, 33, zlib.crc32(header), len(header), len(header), len(name))
    body = b"PK\x03\x04" + struct.pack("<5H3I2H", *fields, 0) + name + header + tail
    entries = b"PK\x01\x02\x14\x00" + struct.pack("<5H3I5H2I", *fields, 0, 0, 0, 0, 0, 0) + name
    for (name, fields), place in zip(directory, places, strict=True):
        start = len(body) - place
        entries += b"PK\x01\x02\x14\x00" + struct.pack("<5H3I5H2I", *fields, 0, 0, 0, 0, 0, start) + name
    mark = b"milopt model, sha256 "
    ends = struct.pack("<4H2IH", 0, 0, count + 1, count + 1, len(entries), len(body), len(mark) + 64)
    content = body + entries + b"PK\x05\x06" + ends + mark
    return content + hashlib.sha256(content).hexdigest().encode()


def test_overlapping_members_raise_an_error(saved) -> None:
    """Members that contain each other would unpack to far more than the size of the file."""
    content = overlapping_archive(json.dumps(read_contents(saved)[0]).encode(), 30)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None, "this is a correct zip"
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"saved model \(two members overlap\)"):
        load_model(saved)


def test_devices_and_pipes_raise_an_error_at_once(tmp_path) -> None:
    """Reading a device never ends, and a pipe without a writer never returns."""
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
    for place in (Path("/dev/zero"), tmp_path / "pipe"):
        if place.exists():
            for load in (load_model, load_gram):
                with pytest.raises(ModelFileError, match="cannot be read: It is a device or a pipe, not a file"):
                    load(place)
    with pytest.raises(ModelFileError, match="cannot be read: embedded null byte"):
        load_model("a\0b")


@pytest.mark.parametrize("member", ["object", "longer", "compressed", "not npy", "no header"])
def test_arrays_with_wrong_headers_raise_an_error(member, saved) -> None:
    header, _ = read_contents(saved)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if member != "no header":
            archive.writestr("header.json", json.dumps(header))
        described = {
            "object": "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
            "longer": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}",
        }.get(member, "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)}")
        text = described.ljust(117).encode() + b"\n"
        npy = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
        kind = zipfile.ZIP_DEFLATED if member == "compressed" else zipfile.ZIP_STORED
        archive.writestr("0000.npy", b"x" * 40 if member == "not npy" else npy, kind)
        archive.comment = b"milopt model, sha256 " + b"0" * 64
    body = buffer.getvalue()[:-64]
    saved.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    with pytest.raises(ModelFileError, match="does not have the content of a saved model"):
        load_model(saved)
