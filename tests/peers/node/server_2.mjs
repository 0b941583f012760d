// The server of the tests on the TypeScript SDK 2.x. It speaks both eras.

import { once } from "node:events";
import { McpServer, ResourceTemplate, completable, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const ITEM = "test://item";

const neverCalls = { started: 0, cancelled: 0 };

const text = (words) => ({ content: [{ type: "text", text: words }] });

const startingWith = (values) => (typed) => values.filter((value) => value.startsWith(typed));

function create() {
    const server = new McpServer(
        { name: "node-2", version: "2.0.0" },
        { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "For tests only." },
    );
    const tool = (name, shape, run) => server.registerTool(name, { inputSchema: z.object(shape) }, run);
    addBasics(server, tool);
    addQuestions(tool);
    addChanges(server, tool);
    addResourcesAndPrompts(server);
    return server;
}

function addBasics(server, tool) {
    tool("echo", { text: z.string() }, async (given) => text(given.text));

    const inputSchema = z.object({ a: z.number().int(), b: z.number().int() });
    const outputSchema = z.object({ sum: z.number() });
    server.registerTool("add", { inputSchema, outputSchema }, async ({ a, b }) => {
        const structuredContent = { sum: a + b };
        return { ...text(JSON.stringify(structuredContent)), structuredContent };
    });

    tool("count", { steps: z.number().int() }, async ({ steps }, { mcpReq }) => {
        const { progressToken } = mcpReq._meta ?? {};
        for (let step = 1; step <= steps && progressToken !== undefined; step++) {
            const params = { progressToken, progress: step, total: steps, message: `step ${step}` };
            await mcpReq.notify({ method: "notifications/progress", params });
        }
        return text(`counted ${steps}`);
    });

    tool("log", {}, async (_, { mcpReq }) => {
        await mcpReq.log("debug", "a detail");
        await mcpReq.log("warning", "a warning");
        return text("logged");
    });

    tool("fail", {}, async () => {
        throw new Error("this tool always fails");
    });

    tool("never", {}, async (_, { mcpReq }) => {
        neverCalls.started += 1;
        await once(mcpReq.signal, "abort");
        neverCalls.cancelled += 1;
        return text("nobody hears this");
    });

    tool("counts", {}, async () => text(`${neverCalls.started} ${neverCalls.cancelled}`));
}

// What a tool asks of the client is written once: the SDK sends it as the era has it.
function addQuestions(tool) {
    const asking = (name, question, use) =>
        tool(name, {}, async (_, { mcpReq }) => {
            const answer = inputResponse(mcpReq.inputResponses, "question");
            return answer.kind === "missing" ? inputRequired({ inputRequests: { question } }) : text(use(answer));
        });

    const requestedSchema = z.object({ name: z.string() });
    const user = inputRequired.elicit({ message: "Your name?", requestedSchema });
    asking("ask_user", user, (answer) => answer.content?.name ?? answer.action);

    const messages = [{ role: "user", content: { type: "text", text: "Think of a word." } }];
    const model = inputRequired.createMessage({ messages, maxTokens: 10 });
    asking("ask_model", model, ({ result }) => `${result.content.text} by ${result.model}`);

    asking("ask_roots", inputRequired.listRoots(), ({ roots }) => roots.map((root) => root.uri).join(" "));
}

function addChanges(server, tool) {
    tool("touch", {}, async () => {
        await server.server.sendResourceUpdated({ uri: ITEM });
        return text("touched");
    });

    tool("add_tool", {}, async () => {
        tool("added", {}, async () => text("new"));
        return text("added");
    });
}

function addResourcesAndPrompts(server) {
    server.registerResource("item", ITEM, {}, async () => ({ contents: [{ uri: ITEM, text: "the item" }] }));

    const complete = { number: startingWith(["1", "2"]) };
    const template = new ResourceTemplate("test://number/{number}", { list: undefined, complete });
    server.registerResource("number", template, {}, async (uri, { number }) => ({
        contents: [{ uri: uri.href, text: number }],
    }));

    const argsSchema = z.object({ name: completable(z.string(), startingWith(["Ada", "Alan", "Grace"])) });
    server.registerPrompt("greeting", { argsSchema }, ({ name }) => ({
        messages: [{ role: "user", content: { type: "text", text: `Hello, ${name}!` } }],
    }));

    // The legacy requests that the high-level server leaves unanswered.
    server.server.setRequestHandler("resources/subscribe", async () => ({}));
    server.server.setRequestHandler("resources/unsubscribe", async () => ({}));
}

serveStdio(create);
