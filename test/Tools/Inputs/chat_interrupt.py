"""chat_interrupt.py mtp-run ...: checks that Ctrl-C ends an answer of a chat but not the chat, and
that SIGTERM ends both.
"""
import os, signal, subprocess, sys


def start():
    return subprocess.Popen(
        sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def say(chat, text):
    chat.stdin.write(text.encode() + b"\n")
    chat.stdin.flush()


def read_until(stream, mark):
    text = b""
    while mark not in text:
        block = os.read(stream.fileno(), 4096)
        if not block:
            sys.exit(f"expected {mark}, got the end after {text}")
        text += block
    return text


chat = start()
for _ in range(20):
    say(chat, "Once upon a time")
    os.read(chat.stdout.fileno(), 1)  # The answer has begun.
    chat.send_signal(signal.SIGINT)
    if b", interrupted]" in read_until(chat.stderr, b"]\n"):
        break
    # The signal came after the answer.
    read_until(chat.stderr, b"ends the chat)\n")
    say(chat, "/clear")
    read_until(chat.stdout, b"forgot all questions\n")
else:
    sys.exit("expected an answer that is interrupted, got 20 that were not")
chat.send_signal(signal.SIGINT)
read_until(chat.stderr, b"ends the chat)\n")
say(chat, "/undo")
read_until(chat.stdout, b"forgot the last question\n")
say(chat, "/quit")
if chat.wait() != 0:
    sys.exit(f"expected status 0, got {chat.returncode}")

chat = start()
say(chat, "Once upon a time")
os.read(chat.stdout.fileno(), 1)
chat.send_signal(signal.SIGTERM)
chat.stdin.close()
chat.stdout.read()
if chat.wait() != -signal.SIGTERM:
    sys.exit(f"expected SIGTERM, got {chat.returncode}")
print("the answer ends and the chat goes on")
