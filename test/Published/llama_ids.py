#!/usr/bin/env python3
"""Writes the ids that llama.cpp (PyPI's cyllama) gives to lines.py, text.txt and prompts.json.

  python3 llama_ids.py NAME [FILE]      writes expected/NAME.ids.json

FILE is the GGUF file (default: what models/published/fetch.py --path NAME prints). Special tokens
in the texts of lines.py are text. Conversations are in the model's template by Jinja. Without a
template, a prompt of a chat is a text. Prompts and text.txt begin with a start token if the file
says so.
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


def rendered(messages, tokenize):
    """Returns the prompt of a conversation, or None without a template."""
    try:
        template = tokenize.model.meta_val_str("tokenizer.chat_template")
    except ValueError:
        return None
    import jinja2
    return jinja2.Template(template).render(messages=messages, add_generation_prompt=True)


def ids_of(prompt, tokenize):
    if "chat" not in prompt:
        text = prompt.get("text") or (HERE / prompt["text_file"]).read_text()
        return tokenize(text, starts=True)
    text = rendered([{"role": "user", "content": prompt["chat"]}], tokenize)
    return tokenize(text or prompt["chat"], starts=True, special=bool(text))


def ids_of_conversation(tokenize):
    messages = json.loads((HERE / "conversation.json").read_text())
    text = rendered(messages, tokenize)
    return tokenize(text, starts=True, special=True) if text else []


def main():
    name = sys.argv[1]
    tokenize = tokenizer(sys.argv[2] if len(sys.argv) > 2 else path_of(name))
    texts = [tokenize(text) for text in lines.lines()]
    prompts = json.loads((HERE / "prompts.json").read_text())
    data = {"source": "llama.cpp b9190 in cyllama 0.2.18",
            "digests": [id_data.digest(ids) for ids in texts],
            "ids": texts[::id_data.STEP], "prompts": [ids_of(p, tokenize) for p in prompts],
            "conversation": ids_of_conversation(tokenize),
            "text": tokenize((HERE / "text.txt").read_text(), starts=True)}
    (HERE / "expected" / f"{name}.ids.json").write_text(id_data.written(data))


if __name__ == "__main__":
    main()
