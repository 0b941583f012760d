"""The client of the tests on the Python SDK 1.x, against our server:

`client_1.py REVISION COMMAND ARGUMENTS…` or `client_1.py REVISION URL`.
"""

import contextlib
import sys

import anyio
from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotification,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    Root,
    ServerNotification,
    TextContent,
    ToolListChangedNotification,
)
from pydantic import AnyUrl

ITEM = "test://item"
NUMBER = "test://number/{number}"


class Heard:
    """What the server told by itself."""

    def __init__(self):
        self.log = []
        self.changes, self.changed = anyio.create_memory_object_stream(100)

    async def message(self, message):
        if isinstance(message, Exception):
            raise message
        if isinstance(message, ServerNotification):
            if isinstance(message.root, LoggingMessageNotification):
                self.log.append((message.root.params.level, message.root.params.data))
            elif isinstance(message.root, ResourceUpdatedNotification):
                await self.changes.send(str(message.root.params.uri))
            elif isinstance(message.root, ToolListChangedNotification):
                await self.changes.send("tools")


async def elicit(_context, params):
    assert list(params.requestedSchema["properties"]) == ["name"], params
    return ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_context, params):
    assert params.maxTokens == 10
    return CreateMessageResult(role="assistant", model="a-model", content=TextContent(type="text", text="windlass"))


async def list_roots(_context):
    return ListRootsResult(roots=[Root(uri="file:///one"), Root(uri="file:///two")])


def text_of(result):
    [block] = result.content
    return block.text


async def tools(session, _heard):
    listed, cursor = [], None
    while True:
        page = await session.list_tools(cursor=cursor)
        listed += page.tools
        if (cursor := page.nextCursor) is None:
            break
    assert len(listed) == 12 and "echo" in {tool.name for tool in listed}, listed
    greeting = "grüß dich\n\u2028\0🦀"
    assert text_of(await session.call_tool("echo", {"text": greeting})) == greeting
    # The session checks the result against the tool's output schema.
    summed = await session.call_tool("add", {"a": 2, "b": 40})
    assert summed.structuredContent == {"sum": 42}, summed
    failed = await session.call_tool("fail")
    assert failed.isError and "this tool always fails" in text_of(failed), failed
    assert (await session.call_tool("add", {"a": "two"})).isError
    try:
        await session.call_tool("no-such-tool")
        raise AssertionError("there is no such tool")
    except McpError as error:
        assert error.error.code == -32602, error.error


async def progress(session, _heard):
    steps = []

    async def step(progress, total, message):
        steps.append((progress, total, message))

    counted = await session.call_tool("count", {"steps": 3}, progress_callback=step)
    assert text_of(counted) == "counted 3"
    assert steps == [(number, 3, f"step {number}") for number in (1, 2, 3)], steps


async def resources_and_prompts(session, _heard):
    assert [str(resource.uri) for resource in (await session.list_resources()).resources] == [ITEM]
    templates = (await session.list_resource_templates()).resourceTemplates
    assert [template.uriTemplate for template in templates] == [NUMBER]
    for uri, expected in ((ITEM, "the item"), ("test://number/7", "7")):
        [contents] = (await session.read_resource(AnyUrl(uri))).contents
        assert contents.text == expected, contents
    try:
        await session.read_resource(AnyUrl("test://nowhere"))
        raise AssertionError("there is no such resource")
    except McpError as error:
        assert error.error.code == -32002, error.error

    assert [prompt.name for prompt in (await session.list_prompts()).prompts] == ["greeting"]
    greeting = await session.get_prompt("greeting", {"name": "Ada"})
    assert greeting.messages[0].content.text == "Hello, Ada!"
    completed = await session.complete(
        PromptReference(type="ref/prompt", name="greeting"), {"name": "name", "value": "A"}
    )
    assert completed.completion.values == ["Ada", "Alan"]
    completed = await session.complete(
        ResourceTemplateReference(type="ref/resource", uri=NUMBER), {"name": "number", "value": ""}
    )
    assert completed.completion.values == ["1", "2"]


async def asking(session, _heard):
    for tool, expected in (
        ("ask_user", "Ada"),
        ("ask_model", "windlass by a-model"),
        ("ask_roots", "file:///one file:///two"),
    ):
        answered = await session.call_tool(tool)
        assert text_of(answered) == expected, (tool, answered)


async def changes(session, heard):
    await session.subscribe_resource(AnyUrl(ITEM))
    await session.call_tool("touch")
    assert await heard.changed.receive() == ITEM
    await session.unsubscribe_resource(AnyUrl(ITEM))
    await session.call_tool("touch")
    await session.call_tool("add_tool")
    assert await heard.changed.receive() == "tools"
    assert text_of(await session.call_tool("added")) == "new"


async def logging(session, heard):
    for level, expected in (
        ("debug", [("debug", "a detail"), ("warning", "a warning")]),
        ("warning", [("warning", "a warning")]),
    ):
        await session.set_logging_level(level)
        heard.log.clear()
        await session.call_tool("log")
        assert heard.log == expected, (level, heard.log)


async def cancelling(session, _heard):
    # This SDK gives up waiting without telling the server, so it is told by hand.
    calls = []

    async def call_never():
        calls.append(session._request_id)
        await session.call_tool("never")

    with anyio.CancelScope() as waiting:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_never)
            while text_of(await session.call_tool("counts")) != "1 0":
                pass
            params = CancelledNotificationParams(requestId=calls[0], reason="a change of mind")
            await session.send_notification(ClientNotification(CancelledNotification(params=params)))
            while text_of(await session.call_tool("counts")) != "1 1":
                pass
            # A call that is cancelled is not answered.
            waiting.cancel()
    await session.send_ping()


@contextlib.asynccontextmanager
async def connected(command, *arguments):
    if command.startswith("http://"):
        async with streamable_http_client(command) as (reading, writing, _session_id):
            yield reading, writing
    else:
        async with stdio_client(StdioServerParameters(command=command, args=arguments)) as streams:
            yield streams


async def main():
    heard = Heard()
    with anyio.fail_after(40):
        async with (
            connected(*sys.argv[2:]) as (reading, writing),
            ClientSession(
                reading,
                writing,
                elicitation_callback=elicit,
                sampling_callback=sample,
                list_roots_callback=list_roots,
                message_handler=heard.message,
            ) as session,
        ):
            hello = await session.initialize()
            assert hello.protocolVersion == sys.argv[1], hello
            assert hello.instructions == "For tests only.", hello
            for scene in (tools, progress, resources_and_prompts, asking, changes, logging, cancelling):
                await scene(session, heard)


anyio.run(main)
