"""The typed state of a session as agents with the official SDKs see it: the life of tool results in both
protocols, the state's own API, a pause."""

import anthropic
import openai
import pytest

from test_anthropic import ASK as ASK_ANTHROPIC
from test_anthropic import TOOLS as TOOLS_ANTHROPIC
from test_openai import ASK, MAIL, TOOLS, client


@pytest.fixture
def session(echo):
    """Its id, and a way to read and change its state by the SDK's own verbs."""

    class Session:
        sync = client(echo)
        opened = sync.post("/sessions", cast_to=object, body={})
        body = {"session_id": opened["session_id"]}

        def path(self, part):
            return f"/sessions/{self.opened['reference']}/{part}"

        def get(self, part):
            return self.sync.get(self.path(part), cast_to=object)

        def results(self):
            return {it["call"]: it["state"] for it in self.get("state")["tool_results"]}

    return Session()


@pytest.mark.parametrize("streamed", [False, True])
def test_openai_tool_results_are_pending_then_consumed(session, streamed):
    chat = session.sync.chat.completions
    asked = {"model": "echo-1", "messages": ASK, "tools": TOOLS, "extra_body": session.body}
    if streamed:
        with chat.stream(**asked) as stream:
            message = stream.get_final_completion().choices[0].message
    else:
        message = chat.create(**asked).choices[0].message
    call = message.tool_calls[0]
    assert session.results() == {call.id: "pending"}
    assert session.get("state")["tool_results"][0]["tool"] == "send_mail"
    result = {"role": "tool", "tool_call_id": call.id, "content": f"Sent to {MAIL}"}
    said = message.model_dump(exclude_none=True, exclude={"parsed", "tool_calls"})
    said["tool_calls"] = [
        {"id": call.id, "type": "function",
         "function": {"name": call.function.name, "arguments": call.function.arguments}}
    ]
    reply = chat.create(**asked | {"messages": [*ASK, said, result]})
    assert reply.choices[0].message.content == f"The tool said: Sent to {MAIL}"
    assert session.results() == {call.id: "consumed"}


@pytest.mark.parametrize("streamed", [False, True])
def test_anthropic_tool_results_are_pending_then_consumed(echo, session, streamed):
    messages = anthropic.Anthropic(base_url=echo.url, api_key=echo.key, max_retries=0).messages
    asked = {
        "model": "echo-1", "max_tokens": 100, "messages": ASK_ANTHROPIC, "tools": TOOLS_ANTHROPIC,
        "extra_body": session.body,
    }
    if streamed:
        with messages.stream(**asked) as stream:
            reply = stream.get_final_message()
    else:
        reply = messages.create(**asked)
    call = reply.content[0]
    assert session.results() == {call.id: "pending"}
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "no such box", "is_error": True}
    used = {"type": "tool_use", "id": call.id, "name": call.name, "input": call.input}
    history = [
        *ASK_ANTHROPIC,
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]},
    ]
    messages.create(**asked | {"messages": history})
    assert session.results() == {call.id: "consumed"}
    state = session.get("state")
    assert state["tool_results"][0]["failed"] and state["errors"][0]["call"] == call.id


def test_two_agents_share_an_artifact(session):
    body = {"content": "# Plan\n1. Ask.", "media_type": "text/markdown", "author": "planner"}
    written = session.sync.put(session.path("artifacts/plan.md"), cast_to=object, body=body)
    assert written["artifact"] == {"name": "plan.md", "version": 1}
    read = session.get("artifacts/plan.md")
    assert read["content"] == body["content"] and read["artifact"]["author"] == "planner"
    mark = {"passed": False, "author": "reviewer"}
    session.sync.put(session.path("artifacts/plan.md/1/evaluation"), cast_to=object, body=mark)
    assert session.get("artifacts/plan.md")["artifact"]["evaluation"]["passed"] is False


def test_a_late_writer_is_told(session):
    def update(version):
        options = {"headers": {"if-match": f'"{version}"'}}
        body = {"goal": "Find a flight."}
        return session.sync.patch(session.path("state"), cast_to=object, body=body, options=options)

    assert update(0)["version"] == 1
    with pytest.raises(openai.APIStatusError) as late:
        update(0)
    assert late.value.status_code == 412 and late.value.code == "version_mismatch"


def test_a_paused_session_takes_no_turn(session):
    session.sync.post(session.path("pause"), cast_to=object, body={"question": "Which one?"})
    with pytest.raises(openai.ConflictError) as paused:
        session.sync.chat.completions.create(
            model="echo-1", messages=ASK, extra_body=session.body
        )
    assert paused.value.code == "session_paused"
    session.sync.post(session.path("answer"), cast_to=object, body={"answer": "The blue one."})
    session.sync.post(session.path("resume"), cast_to=object)
    session.sync.chat.completions.create(model="echo-1", messages=ASK, extra_body=session.body)
    assert session.get("state")["answers"][0]["answer"] == "The blue one."
