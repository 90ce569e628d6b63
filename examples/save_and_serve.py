"""Save a fitted model to one file without pickle, and use it in another process.

python examples/save_and_serve.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from milopt import MiloptError, load_data, load_model
from milopt.models import MISVM

SERVER = """
import json, sys
from milopt import load_model
model = load_model(sys.argv[1])
for line in sys.stdin:
    bag = json.loads(line)
    print(json.dumps({"label": int(model.predict([bag])[0]), "score": float(model.decision_function([bag])[0])}))
"""

data = load_data("musk1")
model = MISVM(C=10.0).fit(data.bags, data.labels)

with TemporaryDirectory() as folder:
    path = Path(folder) / "musk1.milopt"
    model.save(path)
    print(f"saved {path.stat().st_size / 1e6:.2f} MB")

    requests = "\n".join(json.dumps(np.asarray(data.bags[i]).tolist()) for i in range(5))
    served = subprocess.run(
        [sys.executable, "-c", SERVER, str(path)], input=requests, capture_output=True, text=True, check=True
    )
    answers = [json.loads(line) for line in served.stdout.splitlines()]
    difference = np.abs([answer["score"] for answer in answers] - model.decision_function(data.bags[:5])).max()
    print(
        "labels from another process:",
        [answer["label"] for answer in answers],
        f"largest difference of scores {difference:.1e}",
    )

    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    try:
        load_model(path)
    except MiloptError as error:
        print("file with one changed bit:", str(error).replace(f"{folder}/", ""))
