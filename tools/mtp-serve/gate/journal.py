"""Requests of streams that can go on at another server, and the events that their clients have.

API.md of mtp-serve describes the field "resume" and the comments in streams.
"""

import json

# Paths that stream answers, without a slash at the end.
PATHS = {"/v1/completions", "/completions", "/completion", "/v1/chat/completions",
         "/chat/completions", "/v1/messages", "/v1/responses"}
FIELD = "resume"
COMMENT = b": resume "
END_OF_EVENT = b"\n\n"


# Fields whose work depends on more than the request and the comments of the stream: numbers of
# prompts are in no stream.
UNCONTINUED = {"prompt_logprobs"}


class Refused(Exception):
    """A body that a client must not send."""


def members_of(body):
    """Returns the members of a JSON object, or None for another body, which is the server's."""
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def can_continue(members):
    """Returns whether another server can continue the stream of a request."""
    return not any(members.get(name) for name in UNCONTINUED)


def journal_of(method, path, body, seed, now):
    """Returns the journal of a request for a stream, or None for another request."""
    if method != "POST" or path.rstrip("/") not in PATHS:
        return None
    members = members_of(body)
    if members is None:
        return None
    if FIELD in members:
        raise Refused(f"expected no '{FIELD}', which only the gate sends")
    if members.get("stream") is not True or not can_continue(members):
        return None
    return Journal(body, seed, now)


class Journal:
    """The request of a stream, and what its client has of the stream."""

    def __init__(self, body, seed, now):
        begin = body.index(b"{") + 1
        self.before, self.after = body[:begin], body[begin:]
        self.fields = {"seed": seed, "created": now, "events": 0}
        # By index: the tokens that the client has, and maybe the reason of the end.
        self.answers = {}
        # Bytes after the last whole event, and events after the last comment.
        self.part, self.held = b"", b""
        self.has_ended = False
        # The number of comments.
        self.progress = 0

    def body(self):
        """Returns the client's body with the field that continues the stream."""
        fields = dict(self.fields)
        if self.answers:
            fields["answers"] = [self.answers.get(i) for i in range(max(self.answers) + 1)]
        # A JSON object has a member besides this one: "stream".
        field = json.dumps({FIELD: fields})[1:-1].encode()
        return self.before + field + b", " + self.after

    def take(self, data):
        """Takes bytes of the stream; returns the bytes that the client may have."""
        *events, self.part = (self.part + data).split(END_OF_EVENT)
        ready = b""
        for event in events:
            if event.startswith(COMMENT):
                self._note(json.loads(event[len(COMMENT):]))
                ready += self.held
                self.held = b""
            else:
                self.held += event + END_OF_EVENT
        return ready

    def cut(self):
        """Forgets the events that the client does not have."""
        self.part = self.held = b""

    def _note(self, comment):
        self.progress += 1
        self.has_ended = comment.get("end", False)
        self.fields["events"] = comment.get("events", self.fields["events"])
        for answer in comment.get("answers", []):
            known = self.answers.setdefault(answer["index"], {"tokens": []})
            known["tokens"] += answer["tokens"]
            if "scores" in answer:
                known.setdefault("scores", []).extend(answer["scores"])
            if "finish" in answer:
                known["finish"] = answer["finish"]
