"""One identity per model: the same hash wherever a model is used."""

import json
import os
import shutil
from pathlib import Path

import pytest
import tiny
from safetensors.torch import load_file, save_file

from btr.candidates.ctranslate2_engine import CTranslate2Engine
from btr.candidates.transformers_engine import TransformersEngine
from btr.errors import InputError
from btr.models.identity import model_hash
from btr.models.load import load
from btr.rerankers import load_reranker
from btr.studies import pipeline, study_files


def change_json(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_engines_rerankers_and_studies_agree(tmp_path):
    folder = tiny.save_t5(tmp_path / "tiny")
    name = f"model:tiny#{model_hash(folder)}|"
    assert name in TransformersEngine(load("seq2seq", folder)).signature
    assert name in CTranslate2Engine(folder, "int8").signature
    assert name in CTranslate2Engine(folder, "float32").signature
    assert name in load_reranker(f"l2r:{folder}").signature
    assert name in load_reranker(f"l2r:{folder}", dtype="bfloat16").signature
    assert name in load_reranker(f"l2r:{folder}", int8=True).signature
    assert study_files.model_hash is pipeline.model_hash is model_hash


def test_what_the_hash_does_not_depend_on(tmp_path):
    folder = Path(tiny.save_t5(tmp_path / "tiny"))
    before = model_hash(str(folder))
    change_json(folder / "config.json", transformers_version="4.0", _name_or_path="x", dtype="float16")
    change_json(folder / "generation_config.json", transformers_version="4.0", num_beams=7)
    for name in ("README.md", "profiles.json", "recipe.yaml", ".ctranslate2.lock", "training_args.bin"):
        (folder / name).write_text("new")
    CTranslate2Engine(str(folder), "int8")  # adds its conversion
    os.utime(folder / "model.safetensors")
    assert model_hash(str(folder)) == before
    again = tmp_path / "other" / "name"
    shutil.copytree(folder, again)
    assert model_hash(str(again)) == before
    tiny.save(load("l2r", str(folder)).model, tiny.t5_tokenizer(), tmp_path / "saved")
    assert model_hash(str(tmp_path / "saved")) == before


def test_what_the_hash_depends_on(tmp_path):
    folder = Path(tiny.save_t5(tmp_path / "tiny"))
    hashes = [model_hash(str(folder))]
    weights = load_file(folder / "model.safetensors")
    weights["decoder.final_layer_norm.weight"][0] += 1e-4
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    hashes.append(model_hash(str(folder)))
    tokenizer = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(tokenizer.replace('"cats"', '"bats"'))
    hashes.append(model_hash(str(folder)))
    change_json(folder / "config.json", bidirectional_decoder=True)
    hashes.append(model_hash(str(folder)))
    change_json(folder / "generation_config.json", forced_bos_token_id=3)
    hashes.append(model_hash(str(folder)))
    (folder / "pytorch_model.bin").write_text("not read where there are safetensors")
    assert model_hash(str(folder)) == hashes[-1]
    (folder / "model.safetensors").unlink()
    hashes.append(model_hash(str(folder)))
    assert len(set(hashes)) == len(hashes) == 6
    assert all(len(each) == 8 and int(each, 16) >= 0 for each in hashes)


def test_shipped_models_have_one_by_name_and_by_folder():
    from btr.models.locate import SHIPPED

    assert model_hash("btr-small") == model_hash(str(SHIPPED / "btr-small")) != model_hash("t5gec-small")


def test_a_model_in_training_has_none(tmp_path):
    (tmp_path / "model").mkdir()
    with pytest.raises(InputError, match=r"has no config\.json; has the model been trained\?"):
        model_hash(str(tmp_path / "model"))


def test_a_second_look_reads_no_weights(tmp_path):
    """Only if neither time nor size has changed."""
    folder = Path(tiny.save_t5(tmp_path / "tiny"))
    before, path = model_hash(str(folder)), folder / "model.safetensors"
    state, content = path.stat(), bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert model_hash(str(folder)) == before
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert model_hash(str(folder)) != before
