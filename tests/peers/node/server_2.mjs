// The server of the tests on the TypeScript SDK 2.x. It speaks both eras.
//
// `server_2.mjs` serves on its standard streams, `server_2.mjs MODE` over HTTP: `stateful`, `stateless` or `json` is how
// the legacy era is served; the modern one knows no sessions, and its answers are streams if they must be, or never
// with `json`.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
    McpServer,
    ResourceTemplate,
    WebStandardStreamableHTTPServerTransport,
    completable,
    createMcpHandler,
    inputRequired,
    inputResponse,
    isLegacyRequest,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { listen } from "./http.mjs";

const ITEM = "test://item";

// In the modern era over HTTP each request has a server of its own.
let isToolAdded = false;
const neverCalls = { started: 0, cancelled: 0 };

const text = (words) => ({ content: [{ type: "text", text: words }] });

const startingWith = (values) => (typed) => values.filter((value) => value.startsWith(typed));

/** A server. `notify` tells listeners of changes where the server itself cannot. */
function create(notify) {
    const server = new McpServer(
        { name: "node-2", version: "2.0.0" },
        { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "For tests only." },
    );
    const tool = (name, shape, run) => server.registerTool(name, { inputSchema: z.object(shape) }, run);
    addBasics(server, tool);
    addQuestions(tool);
    addChanges(server, tool, notify);
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

function addChanges(server, tool, notify) {
    const addTool = () => tool("added", {}, async () => text("new"));

    tool("touch", {}, async () => {
        notify ? notify.resourceUpdated(ITEM) : await server.server.sendResourceUpdated({ uri: ITEM });
        return text("touched");
    });

    tool("add_tool", {}, async () => {
        if (notify) {
            isToolAdded = true;
            notify.toolsChanged();
        } else {
            addTool();
        }
        return text("added");
    });

    if (isToolAdded) {
        addTool();
    }
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

/** Serves over HTTP. */
function serve(mode) {
    const sessions = new Map();
    const isStateless = mode === "stateless";
    const responseMode = mode === "json" ? "json" : "auto";
    const modern = createMcpHandler(({ era }) => create(era === "modern" ? modern.notify : undefined), {
        legacy: isStateless ? "stateless" : "reject",
        responseMode,
    });

    const legacy = async (request) => {
        const id = request.headers.get("mcp-session-id");
        if (id && !sessions.has(id)) {
            return new Response(null, { status: 404 });
        }
        let transport = sessions.get(id);
        if (!transport) {
            transport = new WebStandardStreamableHTTPServerTransport({
                sessionIdGenerator: randomUUID,
                enableJsonResponse: mode === "json",
                onsessioninitialized: (id) => sessions.set(id, transport),
                onsessionclosed: (id) => sessions.delete(id),
            });
            await create().connect(transport);
        }
        return transport.handleRequest(request);
    };

    const isForSession = async (request) => !isStateless && (await isLegacyRequest(request));
    const fetch = async (request) => ((await isForSession(request)) ? legacy(request) : modern.fetch(request));
    const complaint = () => (sessions.size > 0 ? `${sessions.size} sessions were never closed` : undefined);
    listen(toNodeHandler({ fetch }), complaint);
}

const [mode] = process.argv.slice(2);
if (mode) {
    serve(mode);
} else {
    serveStdio(() => create());
}
