"""The official `openai` package, unchanged but for base URL and key."""

import asyncio
import concurrent.futures
import json
import re
import threading
import uuid

import openai
import pytest
from pydantic import BaseModel

from provider import Reply, Stream, chunks, completion

MAIL = "jane.doe@example.com"
CARD = "4111 1111 1111 1111"
TOKEN = re.compile(r"<[A-Z][A-Z0-9_]*_[a-z0-9]{6,}>")
ASK = [{"role": "user", "content": f"Write to {MAIL}, card {CARD}."}]
TOOLS = [{
    "type": "function",
    "function": {
        "name": "send_mail",
        "parameters": {
            "type": "object",
            "properties": {"email": {"type": "string"}, "urgent": {"type": "boolean"}},
            "required": ["email", "urgent"],
        },
    },
}]


def client(gateway, **options):
    options = {"base_url": f"{gateway.url}/v1", "api_key": gateway.key, "max_retries": 0} | options
    return openai.OpenAI(**options)


def async_client(gateway):
    return openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0)


# -- replies --------------------------------------------------------------------------------------

def test_sync(echo):
    reply = client(echo).chat.completions.create(model="echo-1", messages=ASK)
    assert reply.choices[0].message.content == f"You said: {ASK[0]['content']}"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply._request_id.startswith("r_")


def test_async(echo):
    async def ask():
        async with async_client(echo) as asynchronous:
            return await asynchronous.chat.completions.create(model="echo-1", messages=ASK)

    assert MAIL in asyncio.run(ask()).choices[0].message.content


def test_stream(echo):
    stream = client(echo).chat.completions.create(
        model="echo-1", messages=ASK, stream=True, stream_options={"include_usage": True}
    )
    events = list(stream)
    text = "".join(e.choices[0].delta.content or "" for e in events if e.choices)
    assert text == f"You said: {ASK[0]['content']}"
    assert events[-1].usage.total_tokens > 0


def test_stream_without_asking_for_usage_has_none(echo):
    stream = client(echo).chat.completions.create(model="echo-1", messages=ASK, stream=True)
    assert all(event.usage is None and event.choices for event in stream)


def test_async_stream(echo):
    async def ask():
        async with async_client(echo) as asynchronous:
            stream = await asynchronous.chat.completions.create(
                model="echo-1", messages=ASK, stream=True
            )
            return "".join([e.choices[0].delta.content or "" async for e in stream if e.choices])

    assert asyncio.run(ask()) == f"You said: {ASK[0]['content']}"


def test_tool_loop(echo):
    sync = client(echo)
    messages = list(ASK)
    reply = sync.chat.completions.create(model="echo-1", messages=messages, tools=TOOLS)
    assert reply.choices[0].finish_reason == "tool_calls"
    call = reply.choices[0].message.tool_calls[0]
    assert json.loads(call.function.arguments) == {"email": MAIL, "urgent": True}
    messages += [
        reply.choices[0].message,
        {"role": "tool", "tool_call_id": call.id, "content": f"Sent to {MAIL}"},
    ]
    reply = sync.chat.completions.create(model="echo-1", messages=messages, tools=TOOLS)
    assert reply.choices[0].message.content == f"The tool said: Sent to {MAIL}"


def test_streamed_tool_call(echo):
    with client(echo).chat.completions.stream(model="echo-1", messages=ASK, tools=TOOLS) as stream:
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]
    assert json.loads(call.function.arguments) == {"email": MAIL, "urgent": True}


class Contact(BaseModel):
    email: str


def test_structured_output(echo):
    reply = client(echo).chat.completions.parse(
        model="echo-1", messages=ASK, response_format=Contact
    )
    assert reply.choices[0].message.parsed == Contact(email=MAIL)


def test_models(echo):
    assert [model.id for model in client(echo).models.list()] == ["echo-1"]


# -- what the provider saw ------------------------------------------------------------------------

def test_the_provider_sees_pseudonyms_only(scripted):
    scripted.provider.will(Reply(200, completion("ok")))
    client(scripted).chat.completions.create(model="m", messages=ASK)
    seen = scripted.provider.last
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == "Bearer provider-secret-key"
    assert scripted.key not in str(seen.headers) and scripted.key.encode() not in seen.body
    assert MAIL.encode() not in seen.body and CARD.encode() not in seen.body
    assert len(TOKEN.findall(seen.json["messages"][0]["content"])) == 2


def test_a_token_in_a_reply_comes_back_as_the_value_at_any_split(scripted):
    def reply(request):
        token = TOKEN.search(request["messages"][0]["content"])[0]
        return Stream(chunks(*f"I wrote to {token}."))

    scripted.provider.will(reply)
    stream = client(scripted).chat.completions.create(model="m", messages=ASK, stream=True)
    text = "".join(e.choices[0].delta.content or "" for e in stream if e.choices)
    assert text == f"I wrote to {MAIL}."


# -- sessions -------------------------------------------------------------------------------------

def test_sessions(scripted):
    sync = client(scripted)
    session = sync.post("/sessions", cast_to=object, body={})
    assert session["session_id"].startswith("gs_") and session["reference"].startswith("s_")
    seen = []
    for extra in ({"session_id": session["session_id"]}, {"session_id": session["session_id"]}, {}):
        scripted.provider.will(Reply(200, completion("ok")))
        raw = sync.chat.completions.with_raw_response.create(
            model="m", messages=ASK, extra_body=extra
        )
        assert "session_id" not in scripted.provider.last.json
        seen.append((raw.headers["x-gatehouse-session"], scripted.provider.last.body))
    assert seen[0] == seen[1], "one session: the same reference and the same bytes"
    assert seen[0][0] == session["reference"]
    assert seen[2][0] != seen[0][0] and seen[2][1] != seen[0][1], "another session, other tokens"
    shown = sync.get(f"/sessions/{session['reference']}", cast_to=object)
    assert shown["reference"] == session["reference"]
    sync.delete(f"/sessions/{session['reference']}", cast_to=object)
    with pytest.raises(openai.NotFoundError):
        sync.chat.completions.create(
            model="m", messages=ASK, extra_body={"session_id": session["session_id"]}
        )


# -- errors ---------------------------------------------------------------------------------------

def error(info, status, code=None):
    assert info.value.status_code == status
    assert info.value.request_id.startswith("r_")
    assert MAIL not in str(info.value)
    if code:
        assert info.value.code == code


def test_a_wrong_key(echo):
    with pytest.raises(openai.AuthenticationError) as info:
        client(echo, api_key="gk_wrong").chat.completions.create(model="echo-1", messages=ASK)
    error(info, 401, "authentication_failed")


def test_an_unlisted_route(echo):
    with pytest.raises(openai.NotFoundError) as info:
        client(echo).embeddings.create(model="echo-1", input=MAIL)
    error(info, 404, "route_unknown")


def test_an_unknown_session(echo):
    with pytest.raises(openai.NotFoundError) as info:
        client(echo).chat.completions.create(
            model="echo-1", messages=ASK, extra_body={"session_id": "gs_unknown"}
        )
    error(info, 404, "session_not_found")


def test_a_card_in_a_number(echo):
    with pytest.raises(openai.BadRequestError) as info:
        client(echo).chat.completions.create(
            model="echo-1", messages=ASK, extra_body={"customer": {"card": 4111111111111111}}
        )
    error(info, 400, "finding_in_number")


def test_a_picture(echo):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    with pytest.raises(openai.UnprocessableEntityError) as info:
        client(echo).chat.completions.create(
            model="echo-1", messages=[{"role": "user", "content": [picture]}]
        )
    error(info, 422, "media_refused")


@pytest.mark.parametrize("status, raised", [
    (400, openai.BadRequestError),
    (404, openai.NotFoundError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
])
def test_errors_of_the_provider(scripted, status, raised):
    body = {"error": {"message": f"no, {MAIL}", "type": "t", "param": None, "code": "c"}}
    scripted.provider.will(Reply(status, body, {"retry-after": "7"}))
    with pytest.raises(raised) as info:
        client(scripted).chat.completions.create(model="m", messages=ASK)
    assert info.value.request_id.startswith("r_")
    assert (info.value.code, info.value.type, info.value.body["blame"]) == ("c", "t", "provider")
    assert f"no, {MAIL}" in str(info.value)


@pytest.mark.parametrize("body", [{}, {"detail": "no"}, b"<html>", b""])
def test_errors_of_the_provider_in_no_shape(scripted, body):
    scripted.provider.will(Reply(429, body))
    with pytest.raises(openai.RateLimitError) as info:
        client(scripted).chat.completions.create(model="m", messages=ASK)
    error(info, 429, "provider_error")


def test_an_error_event_in_a_stream_raises(scripted):
    report = {"error": {"message": "busy", "code": "overloaded"}}
    scripted.provider.will(Stream(chunks("Hel", done=False) + [f"data: {json.dumps(report)}\n\n"]))
    text = ""
    with pytest.raises(openai.APIError) as info:
        for chunk in client(scripted).chat.completions.create(model="m", messages=ASK, stream=True):
            text += chunk.choices[0].delta.content or ""
    assert (text, info.value.message, info.value.code) == ("Hel", "busy", "overloaded")


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_in_the_other_framing_raises(scripted, stream):
    scripted.provider.will(Reply(200, completion("ok")) if stream else Stream(chunks("ok")))
    with pytest.raises(openai.InternalServerError) as info:
        client(scripted).chat.completions.create(model="m", messages=ASK, stream=stream)
    error(info, 502, "provider_malformed")


def test_a_refused_key_of_the_gateway_is_not_the_callers_fault(scripted):
    scripted.provider.will(Reply(401, {"error": {"message": "bad key"}}))
    with pytest.raises(openai.InternalServerError) as info:
        client(scripted).chat.completions.create(model="m", messages=ASK)
    error(info, 502, "provider_authentication")


def test_a_provider_that_is_down(scripted):
    with pytest.raises(openai.InternalServerError) as info:
        client(scripted).chat.completions.create(model="down-1", messages=ASK)
    error(info, 502, "provider_unreachable")


def test_a_second_turn_while_the_first_runs_is_refused_and_not_tried_again(scripted):
    sync = client(scripted)
    session = sync.post("/sessions", cast_to=object, body={})
    extra = {"session_id": session["session_id"]}
    arrived, released = threading.Event(), threading.Event()

    def slow(_request):
        arrived.set()
        assert released.wait(30)
        return Reply(200, completion("ok"))

    scripted.provider.will(slow)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(
            sync.chat.completions.create, model="m", messages=ASK, extra_body=extra
        )
        assert arrived.wait(30)
        try:
            with pytest.raises(openai.ConflictError) as info:
                client(scripted, max_retries=2).chat.completions.create(
                    model="m", messages=ASK, extra_body=extra
                )
        finally:
            released.set()
        assert first.result().choices[0].message.content == "ok"
    error(info, 409, "session_busy")
    assert info.value.response.headers["x-should-retry"] == "false"
    assert len(scripted.provider.requests) == 1


def test_a_provider_that_is_rate_limited_is_tried_again_by_the_sdk(scripted):
    scripted.provider.will(
        Reply(429, {"error": {"message": "slow"}}, {"retry-after": "0"}), Reply(200, completion("ok"))
    )
    reply = client(scripted, max_retries=1).chat.completions.create(model="m", messages=ASK)
    assert reply.choices[0].message.content == "ok"
    assert len(scripted.provider.requests) == 2


def test_a_stream_that_breaks_off_raises(scripted):
    scripted.provider.will(Stream(chunks("Hel", "lo", done=False), cut=True))
    stream = client(scripted).chat.completions.create(model="m", messages=ASK, stream=True)
    with pytest.raises(Exception) as info:
        list(stream)
    assert type(info.value).__module__.split(".")[0] in ("openai", "httpx", "httpx2", "httpcore")


def test_a_reply_that_breaks_off_raises(scripted):
    scripted.provider.will(Reply(200, completion("ok"), cut=True))
    with pytest.raises(openai.InternalServerError) as info:
        client(scripted).chat.completions.create(model="m", messages=ASK)
    error(info, 502, "provider_truncated")


# -- conversations --------------------------------------------------------------------------------

def test_a_tool_loop_without_an_id_stays_in_its_session(echo):
    messages = [{"role": "user", "content": f"Send it to {uuid.uuid4().hex}@example.com"}]
    sessions = set()
    for turn in range(3):
        tools = {"tools": TOOLS, "tool_choice": "required"} if turn == 0 else {}
        raw = client(echo).chat.completions.with_raw_response.create(
            model="echo-1", messages=messages, **tools
        )
        sessions.add(raw.headers["x-gatehouse-session"])
        message = raw.parse().choices[0].message
        messages.append(message)
        if message.tool_calls:
            results = [
                {"role": "tool", "tool_call_id": call.id, "content": "sent"}
                for call in message.tool_calls
            ]
            messages += results
        else:
            messages.append({"role": "user", "content": "thanks"})
    assert len(sessions) == 1
