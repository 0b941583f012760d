"""The server of the tests on the Python SDK 2.x. It speaks both eras.

`server_2.py` serves on its standard streams, `server_2.py [http] [stateless] [json]` over HTTP.
"""

import sys
from typing import Annotated

import anyio
import mcp_types as types
from http_serving import serve_http
from mcp.server.elicitation import AcceptedElicitation, CancelledElicitation, DeclinedElicitation
from mcp.server.lowlevel import NotificationOptions
from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

ITEM = "test://item"

server = MCPServer("python-2", version="2.0.0", instructions="For tests only.", log_level="ERROR")
never_calls = {"started": 0, "cancelled": 0}
lowest = {"level": "debug"}


class Name(BaseModel):
    name: str


class Sum(BaseModel):
    sum: int


def is_modern(context):
    return context.protocol_version >= "2026-07-28"


@server.tool(structured_output=False)
def echo(text: str) -> str:
    return text


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(sum=a + b)


@server.tool(structured_output=False)
async def count(steps: int, context: Context) -> str:
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step}")
    return f"counted {steps}"


@server.tool(structured_output=False)
async def log(context: Context) -> str:
    # In the legacy era the SDK keeps no level; a server has to do that.
    if is_modern(context) or lowest["level"] == "debug":
        await context.debug("a detail")
    await context.warning("a warning")
    return "logged"


@server.tool(structured_output=False)
def fail() -> str:
    raise ToolError("this tool always fails")


# What a tool asks of the client is written once: the SDK sends it as the era has it.
def the_name() -> Elicit[Name]:
    return Elicit("Your name?", Name)


def a_word() -> Sample:
    question = types.SamplingMessage(role="user", content=types.TextContent(text="Think of a word."))
    return Sample([question], max_tokens=10)


def the_roots() -> ListRoots:
    return ListRoots()


@server.tool(structured_output=False)
def ask_user(
    answer: Annotated[
        AcceptedElicitation[Name] | DeclinedElicitation | CancelledElicitation, Resolve(the_name)
    ],
) -> str:
    return answer.data.name if isinstance(answer, AcceptedElicitation) else answer.action


@server.tool(structured_output=False)
def ask_model(answer: Annotated[types.CreateMessageResult, Resolve(a_word)]) -> str:
    return f"{answer.content.text} by {answer.model}"


@server.tool(structured_output=False)
def ask_roots(answer: Annotated[types.ListRootsResult, Resolve(the_roots)]) -> str:
    return " ".join(str(root.uri) for root in answer.roots)


@server.tool(structured_output=False)
async def never() -> str:
    never_calls["started"] += 1
    try:
        await anyio.sleep_forever()
    finally:
        never_calls["cancelled"] += 1
    return "nobody hears this"


@server.tool(structured_output=False)
def counts() -> str:
    return f"{never_calls['started']} {never_calls['cancelled']}"


# Changes are told by other means in each era.
@server.tool(structured_output=False)
async def touch(context: Context) -> str:
    if is_modern(context):
        await context.notify_resource_updated(ITEM)
    else:
        await context.session.send_resource_updated(ITEM)
    return "touched"


@server.tool(structured_output=False)
async def add_tool(context: Context) -> str:
    server.add_tool(lambda: "new", name="added", structured_output=False)
    if is_modern(context):
        await context.notify_tools_changed()
    else:
        await context.session.send_tool_list_changed()
    return "added"


@server.resource(ITEM, name="item")
def item() -> str:
    return "the item"


@server.resource("test://number/{number}", name="number")
def number(number: str) -> str:
    return number


@server.prompt()
def greeting(name: str) -> str:
    return f"Hello, {name}!"


@server.completion()
async def complete(reference, argument, _context):
    values = ["Ada", "Alan", "Grace"] if isinstance(reference, types.PromptReference) else ["1", "2"]
    return types.Completion(values=[value for value in values if value.startswith(argument.value)])


# The legacy requests that the high-level server leaves unanswered.
async def agree(_context, _params):
    return types.EmptyResult()


async def set_logging_level(_context, params):
    lowest["level"] = params.level
    return types.EmptyResult()


beneath = server._lowlevel_server
beneath.add_request_handler("resources/subscribe", types.SubscribeRequestParams, agree)
beneath.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, agree)
beneath.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_logging_level)


async def main():
    options = beneath.create_initialization_options(NotificationOptions(tools_changed=True))
    if sys.argv[1:]:
        # Over HTTP there is no other way to say what to declare.
        beneath.create_initialization_options = lambda *_given: options
        app = server.streamable_http_app(
            stateless_http="stateless" in sys.argv, json_response="json" in sys.argv
        )
        await serve_http(app, beneath.session_manager)
    else:
        async with stdio_server() as (reading, writing):
            await beneath.run(reading, writing, options)


anyio.run(main)
