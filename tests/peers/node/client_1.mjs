// The client of the tests on the TypeScript SDK 1.x, against our server:
// `client_1.mjs REVISION COMMAND ARGUMENTS…` or `client_1.mjs REVISION URL`.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema,
    LoggingMessageNotificationSchema,
    ResourceUpdatedNotificationSchema,
    ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { ANSWERS, CAPABILITIES, Heard, close, converse, startDeadline } from "./scenes.mjs";

startDeadline();
const [revision, command, ...args] = process.argv.slice(2);
const heard = new Heard();
const client = new Client({ name: "node-1", version: "1.0.0" }, { capabilities: CAPABILITIES });
client.setRequestHandler(ElicitRequestSchema, ANSWERS.elicit);
client.setRequestHandler(CreateMessageRequestSchema, ANSWERS.sample);
client.setRequestHandler(ListRootsRequestSchema, ANSWERS.roots);
client.setNotificationHandler(LoggingMessageNotificationSchema, heard.message);
client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard.updated);
client.setNotificationHandler(ToolListChangedNotificationSchema, heard.toolsChanged);

const isUrl = command.startsWith("http://");
const transport = isUrl
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
// It tells the transport the revision, and nobody else.
let negotiated;
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
    negotiated = version;
    setProtocolVersion?.(version);
};
await client.connect(transport);
assert.equal(negotiated, revision);

const call = (name, given = {}, options = {}) => client.callTool({ name, arguments: given }, undefined, options);
await converse({ client, call, heard, revision, notFound: -32002 });
await close(client, transport);
