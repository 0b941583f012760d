// The server of the tests on the TypeScript SDK 1.x. It speaks the legacy era only.

import { once } from "node:events";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

const ITEM = "test://item";

const server = new McpServer(
    { name: "node-1", version: "1.0.0" },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "For tests only." },
);
const neverCalls = { started: 0, cancelled: 0 };

const text = (words) => ({ content: [{ type: "text", text: words }] });

const tool = (name, inputSchema, run) => server.registerTool(name, { inputSchema }, run);

tool("echo", { text: z.string() }, async (given) => text(given.text));

const numbers = { a: z.number().int(), b: z.number().int() };
server.registerTool("add", { inputSchema: numbers, outputSchema: { sum: z.number() } }, async ({ a, b }) => {
    const structuredContent = { sum: a + b };
    return { ...text(JSON.stringify(structuredContent)), structuredContent };
});

tool("count", { steps: z.number().int() }, async ({ steps }, extra) => {
    const { progressToken } = extra._meta ?? {};
    for (let step = 1; step <= steps && progressToken !== undefined; step++) {
        const params = { progressToken, progress: step, total: steps, message: `step ${step}` };
        await extra.sendNotification({ method: "notifications/progress", params });
    }
    return text(`counted ${steps}`);
});

tool("log", {}, async () => {
    await server.sendLoggingMessage({ level: "debug", data: "a detail" });
    await server.sendLoggingMessage({ level: "warning", data: "a warning" });
    return text("logged");
});

tool("fail", {}, async () => {
    throw new Error("this tool always fails");
});

tool("ask_user", {}, async () => {
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const answer = await server.server.elicitInput({ message: "Your name?", requestedSchema });
    return text(answer.content?.name ?? answer.action);
});

tool("ask_model", {}, async () => {
    const question = { role: "user", content: { type: "text", text: "Think of a word." } };
    const answer = await server.server.createMessage({ messages: [question], maxTokens: 10 });
    return text(`${answer.content.text} by ${answer.model}`);
});

tool("ask_roots", {}, async () => {
    const { roots } = await server.server.listRoots();
    return text(roots.map((root) => root.uri).join(" "));
});

tool("never", {}, async (_, extra) => {
    neverCalls.started += 1;
    await once(extra.signal, "abort");
    neverCalls.cancelled += 1;
    return text("nobody hears this");
});

tool("counts", {}, async () => text(`${neverCalls.started} ${neverCalls.cancelled}`));

tool("touch", {}, async () => {
    await server.server.sendResourceUpdated({ uri: ITEM });
    return text("touched");
});

tool("add_tool", {}, async () => {
    tool("added", {}, async () => text("new"));
    return text("added");
});

server.registerResource("item", ITEM, {}, async () => ({ contents: [{ uri: ITEM, text: "the item" }] }));

const startingWith = (values) => (typed) => values.filter((value) => value.startsWith(typed));
const template = new ResourceTemplate("test://number/{number}", {
    list: undefined,
    complete: { number: startingWith(["1", "2"]) },
});
server.registerResource("number", template, {}, async (uri, { number }) => ({
    contents: [{ uri: uri.href, text: number }],
}));

const argsSchema = { name: completable(z.string(), startingWith(["Ada", "Alan", "Grace"])) };
server.registerPrompt("greeting", { argsSchema }, ({ name }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Hello, ${name}!` } }],
}));

// The high-level server has no subscriptions; the one beneath it does.
server.server.setRequestHandler(SubscribeRequestSchema, async () => ({}));
server.server.setRequestHandler(UnsubscribeRequestSchema, async () => ({}));

await server.connect(new StdioServerTransport());
