// The TypeScript SDK 2.x against our protected server: `client_2.mjs URL`.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { converse, startDeadline } from "./client.mjs";

startDeadline();
const url = new URL(process.argv[2]);
let transport;
const connect = async (authProvider) => {
    const client = new Client({ name: "node-2", version: "2.0.0" }, { versionNegotiation: { mode: "auto" } });
    transport = new StreamableHTTPClientTransport(url, { authProvider });
    await client.connect(transport);
    return client;
};
const finish = (query) => transport.finishAuth(query);
await converse(connect, finish, (client, name) => client.callTool({ name, arguments: {} }));
