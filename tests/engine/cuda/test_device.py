"""CUDA through CuPy, on a module that pretends to be CuPy: tables of launches, products, GPUs by number."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest

import arrows as ar
from arrows.engine.device import ProductLayout, get_device, host_array, kernel_source
from arrows.engine.device.device import shared_device
from arrows.testing.host_kernels import rounded
from arrows.training import Adam
from tests.engine.device import pretend_cupy
from tests.marks import needs_compiler
from tests.networks import networks


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pretend_cupy.pretend(monkeypatch)
    yield
    shared_device.cache_clear()


@pytest.mark.usefixtures("cupy")
def test_names() -> None:
    assert get_device("cuda").name == "cuda"
    assert get_device("cuda:0") is get_device("cuda") is get_device("auto")
    assert get_device("cuda:1").name == "cuda:1"
    assert repr(get_device("cuda:1")) == "get_device('cuda:1')"
    with pytest.raises(RuntimeError, match=r'device="cuda:2": CuPy finds 2 GPU\(s\), numbered from 0'):
        get_device("cuda:2")


@pytest.mark.parametrize("version", ["13.3.0", "12.10.1", "9.6.0rc1"])
def test_old_versions_are_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cupy.pretend(monkeypatch)
    monkeypatch.setattr(sys.modules["cupy"], "__version__", version)
    with pytest.raises(ImportError, match=rf"needs CuPy 13\.4 or newer; {version} is installed"):
        get_device("cuda")
    assert get_device("auto") is get_device("cpu")


@pytest.mark.parametrize("failure", ["no CuPy", "no driver", "no GPU"])
def test_auto_without_a_gpu_is_the_cpu(failure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_cupy.pretend(monkeypatch)
    runtime = sys.modules["cupy"].cuda.runtime

    def no_driver() -> int:
        raise pretend_cupy.CUDARuntimeError("cudaErrorInsufficientDriver")

    if failure == "no CuPy":
        monkeypatch.setitem(sys.modules, "cupy", None)
    else:
        monkeypatch.setattr(runtime, "getDeviceCount", no_driver if failure == "no driver" else lambda: 0)
    assert get_device("auto") is get_device("cpu")
    words = 'device="cuda" needs CuPy, which is not installed: pip install cupy-cuda12x '
    words = words if failure == "no CuPy" else 'device="cuda"'
    with pytest.raises(ImportError if failure == "no CuPy" else RuntimeError, match=f"^{words}"):
        get_device("cuda")


@pytest.mark.usefixtures("cupy")
def test_calls_run_on_the_gpu_of_the_device() -> None:
    first, second = get_device("cuda"), get_device("cuda:1")
    there = second.to_device(np.arange(3))
    assert pretend_cupy.Device.current == 1
    assert second.is_array(there)
    first.empty((2,), "float32")
    assert pretend_cupy.Device.current == 0
    np.testing.assert_array_equal(second.to_numpy(second.to_device(np.arange(3))), np.arange(3))
    second.synchronize()
    assert pretend_cupy.Device.current == 1
    with pytest.raises(TypeError, match="to_device takes a NumPy array"):
        first.to_device(there)
    with pytest.raises(TypeError, match="expected a CuPy array"):
        first.to_numpy(np.ones(2))
    with pytest.raises(TypeError, match="expected a CuPy array on 'cuda'"):
        first.address(np.ones(2))
    np.testing.assert_array_equal(host_array(there), np.arange(3))


@needs_compiler
@pytest.mark.usefixtures("cupy")
def test_launches() -> None:
    device = get_device("cuda:1")
    body = "  ITEMS(i, WORD(0) * 3) ((float*)WORD(2))[i] = 2 * ((const float*)WORD(1))[i];"
    source = kernel_source(body, words=3, columns=3)
    kernel = device.compile([source])[source.name]
    assert device.compile([source])[source.name] is kernel
    assert kernel.source is source
    x = device.to_device(np.arange(300, dtype="float32").reshape(100, 3))
    y = device.zeros((100, 3), "float32")
    begin = np.array([device.address(x), device.address(y)])
    words = np.array([[1, *begin], [0, 0, 0], [90, *(begin + 10 * 3 * 4)]])
    pretend_cupy.Device.current = 0
    launch = kernel.bind(words)
    assert pretend_cupy.Device.current == 1
    for number in range(3):
        launch(number)
    expected = 2 * np.arange(300).reshape(100, 3)
    expected[1:10] = 0
    np.testing.assert_array_equal(device.to_numpy(y), expected)
    assert pretend_cupy.LAUNCHES == [(1, 128), (3, 128)]  # 270 items; a line without rows launches nothing


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("precision", ["tf32", "bfloat16", "float16"])
def test_products_that_round(precision: str) -> None:
    device, rng = get_device("cuda"), np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4)).astype("float32"), rng.normal(size=(4, 3)).astype("float32")
    arrays = [device.to_device(a), device.to_device(b), device.zeros((2, 3), "float32")]
    layout = ProductLayout(dtype="float32", a_stride=4, b_stride=3, c_stride=3, precision=precision)
    words = np.array([[2, 3, 4, *(device.address(array) for array in arrays)]])
    device.products(layout, words)(0)
    expected = rounded(a, precision) @ rounded(b, precision)
    np.testing.assert_allclose(device.to_numpy(arrays[2]), expected, 1e-6)
    assert not np.allclose(device.to_numpy(arrays[2]), a @ b, 1e-6)


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("a_transposed", [False, True])
@pytest.mark.parametrize("b_transposed", [False, True])
@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("k", [4, 0])
def test_products(dtype: str, a_transposed: bool, b_transposed: bool, accumulate: bool, k: int) -> None:
    device, rng = get_device("cuda"), np.random.default_rng(0)
    m, n = 2, 3
    a, b = (
        rng.normal(size=(k, m) if a_transposed else (m, k)).astype(dtype),
        rng.normal(size=(n, k) if b_transposed else (k, n)).astype(dtype),
    )
    wide = [np.hstack([matrix, np.full((len(matrix), 2), np.nan, dtype)]) for matrix in (a, b)]
    on_device = [device.to_device(matrix) for matrix in wide]
    c = device.to_device(np.ones((m, n + 1), dtype) if accumulate else np.full((m, n + 1), np.nan, dtype))
    layout = ProductLayout(
        dtype=dtype,
        a_stride=wide[0].shape[1],
        b_stride=wide[1].shape[1],
        c_stride=n + 1,
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        accumulate=accumulate,
    )
    addresses = [device.address(array) for array in (*on_device, c)]
    product = device.products(layout, np.array([[0, n, k, 0, 0, 0], [m, n, k, *addresses]]))
    product(0)
    product(1)
    expected = (a.T if a_transposed else a) @ (b.T if b_transposed else b) + accumulate
    result = device.to_numpy(c)
    np.testing.assert_allclose(result[:, :n], expected, 1e-6)
    np.testing.assert_array_equal(result[:, n], np.full(m, 1 if accumulate else np.nan))


@pytest.mark.nightly
@needs_compiler
@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("network", ["treelstm", "bilstm"])
def test_training_on_the_second_gpu(network: str) -> None:
    block, examples = networks()[network]
    there, here = (ar.compile(block, loss="loss", device=device) for device in ("cuda:1", "cpu"))
    for _ in range(2):
        losses = [model.train_step(examples[:5], Adam(0.1, clip_norm=1.0)) for model in (there, here)]
        assert float(ar.to_numpy(losses[0])) == pytest.approx(float(losses[1]), rel=1e-5)
    for name in here.params:
        np.testing.assert_allclose(ar.to_numpy(there.params[name]), here.params[name], rtol=1e-3, atol=1e-5)
    assert len(pretend_cupy.LAUNCHES) > 50
    assert pretend_cupy.Device.current == 1
    there.release_memory()
    assert pretend_cupy.RELEASED == [1, 1]  # memory of the GPU, and pinned memory
