"""The official `anthropic` package, unchanged but for base URL and key."""

import asyncio
import re
import uuid

import anthropic
import pytest

from provider import Reply, Stream, events, message

MAIL = "jane.doe@example.com"
CARD = "4111 1111 1111 1111"
TOKEN = re.compile(r"<[A-Z][A-Z0-9_]*_[a-z0-9]{6,}>")
ASK = [{"role": "user", "content": f"Write to {MAIL}, card {CARD}."}]
TOOLS = [{
    "name": "send_mail",
    "input_schema": {
        "type": "object",
        "properties": {"email": {"type": "string"}, "urgent": {"type": "boolean"}},
        "required": ["email", "urgent"],
    },
}]


def client(gateway, **options):
    options = {"base_url": gateway.url, "api_key": gateway.key, "max_retries": 0} | options
    return anthropic.Anthropic(**options)


def ask(gateway, model="echo-1", messages=ASK, **options):
    return client(gateway).messages.create(
        model=model, max_tokens=100, messages=messages, **options
    )


# -- replies --------------------------------------------------------------------------------------

def test_sync(echo):
    reply = ask(echo)
    assert reply.content[0].text == f"You said: {ASK[0]['content']}"
    assert reply.stop_reason == "end_turn"
    assert reply.usage.input_tokens > 0 and reply.usage.output_tokens > 0
    assert reply._request_id.startswith("r_")


def test_a_bearer_token_works_too(echo):
    bearer = anthropic.Anthropic(base_url=echo.url, auth_token=echo.key, api_key=None, max_retries=0)
    reply = bearer.messages.create(model="echo-1", max_tokens=100, messages=ASK)
    assert MAIL in reply.content[0].text


def test_async(echo):
    async def run():
        async with anthropic.AsyncAnthropic(base_url=echo.url, api_key=echo.key) as asynchronous:
            return await asynchronous.messages.create(
                model="echo-1", max_tokens=100, messages=ASK
            )

    assert MAIL in asyncio.run(run()).content[0].text


def test_stream(echo):
    with client(echo).messages.stream(model="echo-1", max_tokens=100, messages=ASK) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == f"You said: {ASK[0]['content']}"
    assert final.content[0].text == text and final.usage.output_tokens > 0


def test_async_stream(echo):
    async def run():
        async with anthropic.AsyncAnthropic(base_url=echo.url, api_key=echo.key) as asynchronous:
            async with asynchronous.messages.stream(
                model="echo-1", max_tokens=100, messages=ASK
            ) as stream:
                return "".join([text async for text in stream.text_stream])

    assert asyncio.run(run()) == f"You said: {ASK[0]['content']}"


def test_tool_loop(echo):
    messages = list(ASK)
    reply = ask(echo, messages=messages, tools=TOOLS)
    assert reply.stop_reason == "tool_use"
    call = reply.content[0]
    assert call.input == {"email": MAIL, "urgent": True}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": f"Sent to {MAIL}"}
    messages += [
        {"role": "assistant", "content": reply.content},
        {"role": "user", "content": [result]},
    ]
    reply = ask(echo, messages=messages, tools=TOOLS)
    assert reply.content[0].text == f"The tool said: Sent to {MAIL}"


def test_streamed_tool_call(echo):
    with client(echo).messages.stream(
        model="echo-1", max_tokens=100, messages=ASK, tools=TOOLS
    ) as stream:
        final = stream.get_final_message()
    assert final.content[0].input == {"email": MAIL, "urgent": True}


def test_models(echo):
    assert [model.id for model in client(echo).models.list()] == ["echo-1"]


# -- what the provider saw ------------------------------------------------------------------------

def test_the_provider_sees_pseudonyms_only(scripted):
    scripted.provider.will(Reply(200, message({"type": "text", "text": "ok"})))
    ask(scripted, "c", system=f"You help {MAIL}.", metadata={"user_id": MAIL})
    seen = scripted.provider.last
    assert seen.path == "/v1/messages"
    assert seen.headers["x-api-key"] == "provider-secret-key"
    assert seen.headers["anthropic-version"]
    assert scripted.key not in str(seen.headers) and scripted.key.encode() not in seen.body
    assert MAIL.encode() not in seen.body and CARD.encode() not in seen.body
    assert TOKEN.search(seen.json["system"])


def test_a_token_in_a_reply_comes_back_as_the_value_at_any_split(scripted):
    def reply(request):
        token = TOKEN.search(request["messages"][0]["content"])[0]
        return Stream(events(*f"I wrote to {token}."))

    scripted.provider.will(reply)
    with client(scripted).messages.stream(model="c", max_tokens=9, messages=ASK) as stream:
        assert "".join(stream.text_stream) == f"I wrote to {MAIL}."


def test_signed_thinking_goes_there_and_back_untouched(scripted):
    def first(request):
        token = TOKEN.search(request["messages"][0]["content"])[0]
        thinking = {"type": "thinking", "thinking": f"They want {token}.", "signature": "c2lnbmVk"}
        return Reply(200, message(thinking, {"type": "text", "text": f"Hello {token}"}))

    scripted.provider.will(first, Reply(200, message({"type": "text", "text": "ok"})))
    session = client(scripted).post("/v1/sessions", cast_to=object, body={})
    extra = {"session_id": session["session_id"]}
    reply = ask(scripted, "c", extra_body=extra)
    thinking, text = reply.content
    assert text.text == f"Hello {MAIL}"
    assert TOKEN.search(thinking.thinking), "thinking is never restored"
    messages = ASK + [
        {"role": "assistant", "content": reply.content},
        {"role": "user", "content": "Go on."},
    ]
    ask(scripted, "c", messages, extra_body=extra)
    sent = scripted.provider.last.json["messages"][1]["content"]
    assert sent[0]["thinking"] == thinking.thinking and sent[0]["signature"] == "c2lnbmVk"
    assert MAIL.encode() not in scripted.provider.last.body


# -- sessions -------------------------------------------------------------------------------------

def test_sessions(scripted):
    session = client(scripted).post("/v1/sessions", cast_to=object, body={})
    seen = []
    for extra in ({"session_id": session["session_id"]}, {"session_id": session["session_id"]}, {}):
        scripted.provider.will(Reply(200, message({"type": "text", "text": "ok"})))
        raw = client(scripted).messages.with_raw_response.create(
            model="c", max_tokens=9, messages=ASK, extra_body=extra
        )
        assert "session_id" not in scripted.provider.last.json
        seen.append((raw.headers["x-gatehouse-session"], scripted.provider.last.body))
    assert seen[0] == seen[1] and seen[0][0] == session["reference"]
    assert seen[2][0] != seen[0][0] and seen[2][1] != seen[0][1]


# -- errors ---------------------------------------------------------------------------------------

def error(info, status):
    assert info.value.status_code == status
    assert info.value.request_id.startswith("r_")
    assert info.value.body["type"] == "error" and info.value.body["error"]["type"]
    assert MAIL not in str(info.value)


def test_a_wrong_key(echo):
    with pytest.raises(anthropic.AuthenticationError) as info:
        client(echo, api_key="gk_wrong").messages.create(
            model="echo-1", max_tokens=9, messages=ASK
        )
    error(info, 401)


def test_an_unlisted_route(echo):
    with pytest.raises(anthropic.NotFoundError) as info:
        client(echo).messages.count_tokens(model="echo-1", messages=ASK)
    error(info, 404)


def test_an_unknown_session(echo):
    with pytest.raises(anthropic.NotFoundError) as info:
        ask(echo, extra_body={"session_id": "gs_unknown"})
    error(info, 404)


def test_a_card_in_a_number(echo):
    with pytest.raises(anthropic.BadRequestError) as info:
        ask(echo, extra_body={"customer": {"card": 4111111111111111}})
    error(info, 400)


def test_a_picture(echo):
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    with pytest.raises(anthropic.UnprocessableEntityError) as info:
        ask(echo, messages=[{"role": "user", "content": [{"type": "image", "source": source}]}])
    error(info, 422)


@pytest.mark.parametrize("status, kind, raised", [
    (400, "invalid_request_error", anthropic.BadRequestError),
    (404, "not_found_error", anthropic.NotFoundError),
    (429, "rate_limit_error", anthropic.RateLimitError),
    (500, "api_error", anthropic.InternalServerError),
    (529, "overloaded_error", anthropic.InternalServerError),
])
def test_errors_of_the_provider(scripted, status, kind, raised):
    body = {"type": "error", "error": {"type": kind, "message": f"no, {MAIL}"}}
    scripted.provider.will(Reply(status, body, {"retry-after": "7"}))
    with pytest.raises(raised) as info:
        ask(scripted, "c")
    assert info.value.request_id.startswith("r_")
    shown = info.value.body["error"]
    assert (shown["type"], shown["message"]) == (kind, f"no, {MAIL}")
    assert (shown["code"], shown["blame"]) == ("provider_error", "provider")


@pytest.mark.parametrize("body", [{}, {"detail": "no"}, b"<html>", b""])
def test_errors_of_the_provider_in_no_shape(scripted, body):
    scripted.provider.will(Reply(429, body))
    with pytest.raises(anthropic.RateLimitError) as info:
        ask(scripted, "c")
    error(info, 429)


def test_a_reply_that_is_no_stream_raises(scripted):
    scripted.provider.will(Reply(200, message({"type": "text", "text": "ok"})))
    with pytest.raises(anthropic.InternalServerError) as info:
        client(scripted).messages.create(model="c", max_tokens=9, messages=ASK, stream=True)
    error(info, 502)


def test_a_stream_that_nobody_asked_for_raises(scripted):
    scripted.provider.will(Stream(events("ok")))
    with pytest.raises(anthropic.InternalServerError) as info:
        ask(scripted, "c")
    error(info, 502)


def test_a_stream_that_breaks_off_raises(scripted):
    scripted.provider.will(Stream(events("Hel", "lo", done=False), cut=True))
    with pytest.raises(Exception) as info:
        with client(scripted).messages.stream(model="c", max_tokens=9, messages=ASK) as stream:
            stream.get_final_message()
    assert type(info.value).__module__.split(".")[0] in ("anthropic", "httpx", "httpx2", "httpcore")


def test_an_error_event_in_a_stream_raises(scripted):
    overloaded = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    scripted.provider.will(Stream(events("Hel", done=False) + [overloaded]))
    with pytest.raises(anthropic.APIStatusError):
        with client(scripted).messages.stream(model="c", max_tokens=9, messages=ASK) as stream:
            stream.get_final_message()


def test_a_reply_that_breaks_off_raises(scripted):
    scripted.provider.will(Reply(200, message({"type": "text", "text": "ok"}), cut=True))
    with pytest.raises(anthropic.InternalServerError) as info:
        ask(scripted, "c")
    error(info, 502)


# -- conversations --------------------------------------------------------------------------------

def test_a_streamed_tool_loop_without_an_id_stays_in_its_session(echo):
    messages = [{"role": "user", "content": f"Send it to {uuid.uuid4().hex}@example.com"}]
    sessions = set()
    for turn in range(3):
        tools = {"tools": TOOLS, "tool_choice": {"type": "any"}} if turn == 0 else {}
        with client(echo).messages.stream(
            model="echo-1", max_tokens=100, messages=messages, **tools
        ) as stream:
            reply = stream.get_final_message()
            sessions.add(stream.response.headers["x-gatehouse-session"])
        messages.append({"role": "assistant", "content": reply.content})
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": "sent"}
            for block in reply.content if block.type == "tool_use"
        ]
        messages.append({"role": "user", "content": results or "thanks"})
    assert len(sessions) == 1
