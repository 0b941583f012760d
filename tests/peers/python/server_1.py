"""The server of the tests on the Python SDK 1.x. It speaks the legacy era only.

`server_1.py` serves on its standard streams, `server_1.py [http] [stateless] [json]` over HTTP.
"""

import sys

import anyio
from http_serving import serve_http
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.lowlevel import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.types import Completion, PromptReference, SamplingMessage, TextContent
from pydantic import AnyUrl, BaseModel

ITEM = "test://item"

server = FastMCP("python-1", instructions="For tests only.", log_level="ERROR")
never_calls = {"started": 0, "cancelled": 0}
lowest = {"level": "debug"}


class Name(BaseModel):
    name: str


class Sum(BaseModel):
    sum: int


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
    # The SDK keeps no level; a server has to do that.
    if lowest["level"] == "debug":
        await context.debug("a detail")
    await context.warning("a warning")
    return "logged"


@server.tool(structured_output=False)
def fail() -> str:
    raise ToolError("this tool always fails")


@server.tool(structured_output=False)
async def ask_user(context: Context) -> str:
    answer = await context.elicit("Your name?", schema=Name)
    return answer.data.name if answer.action == "accept" else answer.action


@server.tool(structured_output=False)
async def ask_model(context: Context) -> str:
    question = SamplingMessage(role="user", content=TextContent(type="text", text="Think of a word."))
    answer = await context.session.create_message(
        [question], max_tokens=10, related_request_id=context.request_id
    )
    return f"{answer.content.text} by {answer.model}"


@server.tool(structured_output=False)
async def ask_roots(context: Context) -> str:
    answer = await context.session.list_roots()
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


@server.tool(structured_output=False)
async def touch(context: Context) -> str:
    await context.session.send_resource_updated(AnyUrl(ITEM))
    return "touched"


@server.tool(structured_output=False)
async def add_tool(context: Context) -> str:
    server.add_tool(lambda: "new", name="added", structured_output=False)
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
    values = ["Ada", "Alan", "Grace"] if isinstance(reference, PromptReference) else ["1", "2"]
    return Completion(values=[value for value in values if value.startswith(argument.value)])


# The high-level server offers no subscriptions and answers no `logging/setLevel`; the one beneath it does.
@server._mcp_server.subscribe_resource()
async def subscribe(_uri):
    pass


@server._mcp_server.unsubscribe_resource()
async def unsubscribe(_uri):
    pass


@server._mcp_server.set_logging_level()
async def set_logging_level(level):
    lowest["level"] = level


options = server._mcp_server.create_initialization_options(NotificationOptions(tools_changed=True))
# It declares resources without subscriptions, whatever handlers there are.
options.capabilities.resources.subscribe = True


async def main():
    if sys.argv[1:]:
        # Over HTTP there is no other way to say what to declare.
        server._mcp_server.create_initialization_options = lambda: options
        server.settings.stateless_http = "stateless" in sys.argv
        server.settings.json_response = "json" in sys.argv
        app = server.streamable_http_app()
        await serve_http(app, server.session_manager)
    else:
        async with stdio_server() as (reading, writing):
            await server._mcp_server.run(reading, writing, options)


anyio.run(main)
