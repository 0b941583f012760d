// The client of the tests on the TypeScript SDK 2.x, against our server:
// `client_2.mjs REVISION COMMAND ARGUMENTS…` or `client_2.mjs REVISION URL`. A modern
// revision is found out by the client itself; for a legacy one it is held to that era.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { ANSWERS, CAPABILITIES, Heard, close, converse, startDeadline } from "./scenes.mjs";

startDeadline();
const [revision, command, ...args] = process.argv.slice(2);
const heard = new Heard();
const versionNegotiation = { mode: revision === "2026-07-28" ? "auto" : "legacy" };
const client = new Client({ name: "node-2", version: "2.0.0" }, { capabilities: CAPABILITIES, versionNegotiation });
client.setRequestHandler("elicitation/create", ANSWERS.elicit);
client.setRequestHandler("sampling/createMessage", ANSWERS.sample);
client.setRequestHandler("roots/list", ANSWERS.roots);
client.setNotificationHandler("notifications/message", heard.message);
client.setNotificationHandler("notifications/resources/updated", heard.updated);
client.setNotificationHandler("notifications/tools/list_changed", heard.toolsChanged);

const isUrl = command.startsWith("http://");
const transport = isUrl
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args });
await client.connect(transport);
assert.equal(client.getNegotiatedProtocolVersion(), revision);

const call = (name, given = {}, options = {}, meta = undefined) =>
    client.callTool({ name, arguments: given, ...(meta && { _meta: meta }) }, options);
// Whatever code the era has on the wire, this version tells the modern one.
await converse({ client, call, heard, revision, notFound: -32602 });
await close(client, transport);
