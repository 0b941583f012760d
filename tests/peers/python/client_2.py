"""The client of the tests on the Python SDK 2.x, against our server:

`client_2.py REVISION COMMAND ARGUMENTS…` or `client_2.py REVISION URL`. A modern revision is found out
by the client itself; for a legacy one it is held to that era.
"""

import sys

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.client.stdio import stdio_client

ITEM = "test://item"
NUMBER = "test://number/{number}"
MODERN = "2026-07-28"


class Heard:
    """What the server told by itself."""

    def __init__(self):
        self.log = []
        self.changes, self.changed = anyio.create_memory_object_stream(100)

    async def logged(self, params):
        self.log.append((params.level, params.data))

    async def message(self, message):
        if isinstance(message, Exception):
            raise message
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.changes.send(str(message.params.uri))
        elif isinstance(message, types.ToolListChangedNotification):
            await self.changes.send("tools")


async def elicit(_context, params):
    assert list(params.requested_schema["properties"]) == ["name"], params
    return types.ElicitResult(action="accept", content={"name": "Ada"})


async def sample(_context, params):
    assert params.max_tokens == 10
    return types.CreateMessageResult(role="assistant", model="a-model", content=types.TextContent(text="windlass"))


async def list_roots(_context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///one"), types.Root(uri="file:///two")])


def text_of(result):
    [block] = result.content
    return block.text


async def error_of(call):
    try:
        result = await call
    except MCPError as error:
        return error.error.code
    raise AssertionError(f"an error was expected, not {result}")


async def tools(client, _heard):
    listed, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor)
        listed += page.tools
        if (cursor := page.next_cursor) is None:
            break
    assert len(listed) == 12 and "echo" in {tool.name for tool in listed}, listed
    greeting = "grüß dich\n\u2028\0🦀"
    assert text_of(await client.call_tool("echo", {"text": greeting})) == greeting
    # The session checks the result against the tool's output schema.
    summed = await client.call_tool("add", {"a": 2, "b": 40})
    assert summed.structured_content == {"sum": 42}, summed
    failed = await client.call_tool("fail")
    assert failed.is_error and "this tool always fails" in text_of(failed), failed
    assert (await client.call_tool("add", {"a": "two"})).is_error
    assert await error_of(client.call_tool("no-such-tool")) == -32602


async def progress(client, _heard):
    steps = []

    async def step(progress, total, message):
        steps.append((progress, total, message))

    counted = await client.call_tool("count", {"steps": 3}, progress_callback=step)
    assert text_of(counted) == "counted 3"
    assert steps == [(number, 3, f"step {number}") for number in (1, 2, 3)], steps


async def resources_and_prompts(client, _heard):
    assert [str(resource.uri) for resource in (await client.list_resources()).resources] == [ITEM]
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [NUMBER]
    for uri, expected in ((ITEM, "the item"), ("test://number/7", "7")):
        [contents] = (await client.read_resource(uri)).contents
        assert contents.text == expected, contents
    is_modern = client.protocol_version == MODERN
    assert await error_of(client.read_resource("test://nowhere")) == (-32602 if is_modern else -32002)

    assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["greeting"]
    greeting = await client.get_prompt("greeting", {"name": "Ada"})
    assert greeting.messages[0].content.text == "Hello, Ada!"
    completed = await client.complete(types.PromptReference(name="greeting"), {"name": "name", "value": "A"})
    assert completed.completion.values == ["Ada", "Alan"]
    completed = await client.complete(types.ResourceTemplateReference(uri=NUMBER), {"name": "number", "value": ""})
    assert completed.completion.values == ["1", "2"]


async def asking(client, _heard):
    for tool, expected in (
        ("ask_user", "Ada"),
        ("ask_model", "windlass by a-model"),
        ("ask_roots", "file:///one file:///two"),
    ):
        answered = await client.call_tool(tool)
        assert text_of(answered) == expected, (tool, answered)


async def changes_of_the_modern_era(client, _heard):
    async with client.listen(tools_list_changed=True, resource_subscriptions=[ITEM]) as subscription:
        await client.call_tool("touch")
        event = await anext(subscription)
        assert isinstance(event, ResourceUpdated) and event.uri == ITEM, event
        await client.call_tool("add_tool")
        event = await anext(subscription)
        assert isinstance(event, ToolsListChanged), event
    assert text_of(await client.call_tool("added")) == "new"


async def changes_of_the_legacy_era(client, heard):
    await client.subscribe_resource(ITEM)
    await client.call_tool("touch")
    assert await heard.changed.receive() == ITEM
    await client.unsubscribe_resource(ITEM)
    await client.call_tool("touch")
    await client.call_tool("add_tool")
    assert await heard.changed.receive() == "tools"
    assert text_of(await client.call_tool("added")) == "new"


async def logging_of_the_modern_era(client, heard):
    # Each request says which messages it wants.
    for level, expected in (
        ("debug", [("debug", "a detail"), ("warning", "a warning")]),
        ("warning", [("warning", "a warning")]),
        (None, []),
    ):
        heard.log.clear()
        await client.call_tool("log", meta={"io.modelcontextprotocol/logLevel": level} if level else None)
        assert heard.log == expected, (level, heard.log)


async def logging_of_the_legacy_era(client, heard):
    for level, expected in (
        ("debug", [("debug", "a detail"), ("warning", "a warning")]),
        ("warning", [("warning", "a warning")]),
    ):
        await client.set_logging_level(level)
        heard.log.clear()
        await client.call_tool("log")
        assert heard.log == expected, (level, heard.log)


async def cancelling(client, _heard):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "never")
        while text_of(await client.call_tool("counts")) != "1 0":
            pass
        tasks.cancel_scope.cancel()
    while text_of(await client.call_tool("counts")) != "1 1":
        pass


async def ping_of_the_legacy_era(client, _heard):
    await client.send_ping()


COMMON = [tools, progress, resources_and_prompts, asking]
LEGACY = [changes_of_the_legacy_era, logging_of_the_legacy_era, cancelling, ping_of_the_legacy_era]
SCENES = {
    "2025-11-25": [*COMMON, *LEGACY],
    MODERN: [*COMMON, changes_of_the_modern_era, logging_of_the_modern_era, cancelling],
}


async def main():
    revision, command, *arguments = sys.argv[1:]
    is_url = command.startswith("http://")
    server = command if is_url else stdio_client(StdioServerParameters(command=command, args=arguments))
    heard = Heard()
    with anyio.fail_after(40):
        async with Client(
            server,
            mode="auto" if revision == MODERN else "legacy",
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=list_roots,
            logging_callback=heard.logged,
            message_handler=heard.message,
        ) as client:
            assert client.protocol_version == revision, client.protocol_version
            assert client.instructions == "For tests only."
            assert client.server_info.name == "windlass"
            for scene in SCENES[revision]:
                await scene(client, heard)


anyio.run(main)
