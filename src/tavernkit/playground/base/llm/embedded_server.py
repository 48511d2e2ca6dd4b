"""The process that holds the embedded model: `python -m tavernkit.playground.base.llm.embedded_server WEIGHTS`.

The first line of standard input is the API key. Once the model is loaded, one line of JSON on standard output tells
the `address` of an OpenAI-style server on loopback, or the `error`. When standard input closes, the process ends: so it
never outlives its parent, however that ended.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

MODEL_NAME = "SmolLM2-135M-Instruct"
CONTEXT_TOKENS = 4096
LONGEST_REPLY_TOKENS = 1024
PROMPT_CACHE_MIB = 256


def main() -> None:
    # llama.cpp may write to standard output at any time; from here on that is the log, and the answer has its own file.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    api_key = sys.stdin.readline().strip()
    try:
        server = start_server(Path(sys.argv[1]), api_key)
        answer = {"address": server.listening_address}
    except (ImportError, OSError, RuntimeError) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), file=answers, flush=True)
    if "address" in answer:
        sys.stdin.read()
    # The server's destructor waits for the reply that is being written; nobody reads it any more.
    os._exit(0)


def start_server(weights: Path, api_key: str) -> Any:
    """Load the weights and serve them; the server lives as long as the object that is returned."""
    # Optional and without types, so it is not imported like the rest.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL_NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [api_key]
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.n_ctx = CONTEXT_TOKENS
    params.n_predict = LONGEST_REPLY_TOKENS
    params.cache_ram_mib = PROMPT_CACHE_MIB
    params.cpuparams.n_threads = os.cpu_count() or 1
    # Measured: warmer, it loses the thread and half of its facts; without the penalty, it repeats itself.
    params.sampling.temp = 0.5
    params.sampling.penalty_repeat = 1.1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
