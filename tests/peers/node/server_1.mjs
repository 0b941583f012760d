// The server of the tests on the TypeScript SDK 1.x. It speaks the legacy era only.
//
// `server_1.mjs` serves on its standard streams, `server_1.mjs MODE` over HTTP: `stateful`, `stateless`, `json` for
// answers that are single documents, `polling` for streams that the server closes in the middle of a call, `breaking`
// for those that break there. The last two can be resumed.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { listen } from "./http.mjs";

const ITEM = "test://item";

const text = (words) => ({ content: [{ type: "text", text: words }] });

/** What was said on streams, in order. The one among the SDK's examples loses the order within a millisecond. */
class Events {
    #events = [];

    async storeEvent(stream, message) {
        this.#events.push({ stream, message });
        return `${this.#events.length}`;
    }

    async getStreamIdForEventId(id) {
        return this.#events[id - 1]?.stream;
    }

    async replayEventsAfter(id, { send }) {
        const stream = await this.getStreamIdForEventId(id);
        for (const [index, event] of this.#events.entries()) {
            if (index >= id && event.stream === stream) {
                await send(`${index + 1}`, event.message);
            }
        }
        return stream;
    }
}

/** A server. `interrupt` is called in the middle of a call. */
function create(interrupt = () => {}) {
    const server = new McpServer(
        { name: "node-1", version: "1.0.0" },
        { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: "For tests only." },
    );
    const neverCalls = { started: 0, cancelled: 0 };
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
            if (step === 1) {
                interrupt(extra);
            }
        }
        return text(`counted ${steps}`);
    });

    tool("log", {}, async (_, { sessionId }) => {
        await server.sendLoggingMessage({ level: "debug", data: "a detail" }, sessionId);
        await server.sendLoggingMessage({ level: "warning", data: "a warning" }, sessionId);
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
    return server;
}

/** Serves over HTTP. */
function serve(mode) {
    const sessions = new Map();
    const isResumable = mode === "polling" || mode === "breaking";
    let resumed = 0;
    const interrupt = (extra) => (mode === "polling" ? extra.closeSSEStream() : undefined);
    const breakOff = (response) => {
        const { write } = response;
        response.write = (chunk, ...rest) => {
            const isFlushed = write.call(response, chunk, ...rest);
            if (Buffer.from(chunk).includes("step 1")) {
                response.socket.destroySoon();
            }
            return isFlushed;
        };
    };

    const options = () => {
        if (mode === "stateless") {
            return { sessionIdGenerator: undefined };
        }
        const resumption = isResumable ? { eventStore: new Events(), retryInterval: 50 } : {};
        const onsessionclosed = (id) => sessions.delete(id);
        return { sessionIdGenerator: randomUUID, enableJsonResponse: mode === "json", onsessionclosed, ...resumption };
    };

    const handle = async (request, response) => {
        resumed += "last-event-id" in request.headers;
        if (mode === "breaking" && request.method === "POST") {
            breakOff(response);
        }
        const id = request.headers["mcp-session-id"];
        if (id && !sessions.has(id)) {
            response.writeHead(404).end();
            return;
        }
        let transport = sessions.get(id);
        if (!transport) {
            const onsessioninitialized = (id) => sessions.set(id, transport);
            transport = new StreamableHTTPServerTransport({ ...options(), onsessioninitialized });
            await create(interrupt).connect(transport);
        }
        await transport.handleRequest(request, response);
    };

    listen(handle, () => {
        if (sessions.size > 0) {
            return `${sessions.size} sessions were never closed`;
        }
        return isResumable && resumed === 0 ? "no stream was ever resumed" : undefined;
    });
}

const [mode] = process.argv.slice(2);
if (mode) {
    serve(mode);
} else {
    await create().connect(new StdioServerTransport());
}
