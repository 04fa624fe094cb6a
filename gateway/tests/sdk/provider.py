"""A provider that replies what a test has scripted, and keeps what it was sent."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Provider:
    def __init__(self):
        self.requests, self.replies = [], []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                request = Request(self.path, dict(self.headers), body)
                owner.requests.append(request)
                reply = owner.replies.pop(0) if owner.replies else Reply(500, {"error": {}})
                if callable(reply):
                    reply = reply(request.json)
                reply.send(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def reset(self):
        self.requests, self.replies = [], []

    def will(self, *replies):
        """Takes the next replies, in order; a callable gets the request's JSON first."""
        self.replies.extend(replies)

    @property
    def last(self):
        return self.requests[-1]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Request:
    def __init__(self, path, headers, body):
        self.path, self.body = path, body
        self.headers = {name.lower(): value for name, value in headers.items()}

    @property
    def json(self):
        return json.loads(self.body)


class Reply:
    """A whole reply; `cut` ends the connection without the rest."""

    def __init__(self, status, body, headers=(), cut=False):
        self.status, self.headers, self.cut = status, dict(headers), cut
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()

    def send(self, handler):
        handler.send_response(self.status)
        handler.send_header("content-type", "application/json")
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(self.body) + (10 if self.cut else 0)))
        handler.end_headers()
        handler.wfile.write(self.body)
        hang_up(handler, self.cut)


class Stream:
    """A stream of frames, each sent as a chunk of its own; `cut` ends it in the middle."""

    def __init__(self, frames, cut=False):
        self.frames, self.cut = frames, cut

    def send(self, handler):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for frame in self.frames:
            data = frame.encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            handler.wfile.flush()
        if not self.cut:
            handler.wfile.write(b"0\r\n\r\n")
        hang_up(handler, self.cut)


def hang_up(handler, cut):
    if cut:
        handler.wfile.flush()
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True


# -- the two protocols' replies -------------------------------------------------------------------

def completion(content, **message):
    return {
        "id": "chatcmpl-a", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None,
                     "message": {"role": "assistant", "content": content, **message}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def chunks(*pieces, done=True):
    frames = [data({"id": "chatcmpl-a", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
              for delta, finish in [({"role": "assistant", "content": ""}, None)]
              + [({"content": piece}, None) for piece in pieces] + ([({}, "stop")] if done else [])]
    return frames + (["data: [DONE]\n\n"] if done else [])


def message(*content, stop_reason="end_turn"):
    return {
        "id": "msg_a", "type": "message", "role": "assistant", "model": "c",
        "content": list(content), "stop_reason": stop_reason, "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


def events(*pieces, done=True):
    frames = [
        named("message_start", message=message() | {"stop_reason": None}),
        named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
    ]
    frames += [named("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
               for piece in pieces]
    if done:
        frames += [
            named("content_block_stop", index=0),
            named("message_delta", delta={"stop_reason": "end_turn", "stop_sequence": None},
                  usage={"output_tokens": 2}),
            named("message_stop"),
        ]
    return frames


def data(value):
    return f"data: {json.dumps(value)}\n\n"


def named(name, **fields):
    return f"event: {name}\ndata: {json.dumps({'type': name, **fields})}\n\n"
