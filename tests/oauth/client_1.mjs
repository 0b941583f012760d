// The TypeScript SDK 1.x against our protected server: `client_1.mjs URL`.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { converse, startDeadline } from "./client.mjs";

startDeadline();
const url = new URL(process.argv[2]);
let transport;
const connect = async (authProvider) => {
    const client = new Client({ name: "node-1", version: "1.0.0" });
    transport = new StreamableHTTPClientTransport(url, { authProvider });
    await client.connect(transport);
    return client;
};
const finish = (query) => transport.finishAuth(query.get("code"));
await converse(connect, finish, (client, name) => client.callTool({ name, arguments: {} }));
