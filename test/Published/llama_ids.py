#!/usr/bin/env python3
"""Writes the ids that llama.cpp (PyPI's cyllama) gives to lines.py, text.txt and prompts.json.

  python3 llama_ids.py NAME [FILE]      writes expected/NAME.ids.json

FILE is the GGUF file (default: what models/published/fetch.py --path NAME prints). Special tokens
in the texts of lines.py are text. A prompt of a chat is in the model's template by Jinja, or a text
if there is none. Prompts and text.txt begin with a start token if the file says so.
"""

import json
import pathlib
import subprocess
import sys

import id_data
import lines

HERE = pathlib.Path(__file__).parent


def path_of(name):
    fetch = HERE / "../../models/published/fetch.py"
    return subprocess.run([sys.executable, fetch, "--path", name], check=True,
                          capture_output=True, text=True).stdout.strip()


def tokenizer(path):
    """Returns a function from text to ids: tokenize(text, starts, special)."""
    from cyllama.llama import llama_cpp
    llama_cpp.llama_backend_init()
    model = llama_cpp.LlamaModel(path, llama_cpp.LlamaModelParams())
    vocabulary = model.get_vocab()

    def tokenize(text, starts=False, special=False):
        return list(vocabulary.tokenize(text, starts, special))

    tokenize.model = model
    return tokenize


def text_of(prompt, tokenize):
    """Returns the text of a prompt, and whether it is one of a chat."""
    if "chat" not in prompt:
        return prompt.get("text") or (HERE / prompt["text_file"]).read_text(), False
    try:
        template = tokenize.model.meta_val_str("tokenizer.chat_template")
    except ValueError:
        return prompt["chat"], False
    import jinja2
    messages = [{"role": "user", "content": prompt["chat"]}]
    return jinja2.Template(template).render(messages=messages, add_generation_prompt=True), True


def main():
    name = sys.argv[1]
    tokenize = tokenizer(sys.argv[2] if len(sys.argv) > 2 else path_of(name))
    texts = [tokenize(text) for text in lines.lines()]
    prompts = []
    for prompt in json.loads((HERE / "prompts.json").read_text()):
        text, is_chat = text_of(prompt, tokenize)
        prompts.append(tokenize(text, starts=True, special=is_chat))
    data = {"source": "llama.cpp b9190 in cyllama 0.2.18",
            "digests": [id_data.digest(ids) for ids in texts],
            "ids": texts[::id_data.STEP], "prompts": prompts,
            "text": tokenize((HERE / "text.txt").read_text(), starts=True)}
    (HERE / "expected" / f"{name}.ids.json").write_text(id_data.written(data))


if __name__ == "__main__":
    main()
