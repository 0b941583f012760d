// The reference server over HTTP, on a free port: `everything_http.mjs TRANSPORT`, where TRANSPORT is `streamableHttp` or
// `sse`. It takes a port by itself and does not tell which one the system chose, so it is asked for it.

import { Server } from "node:http";

const [transport] = process.argv.slice(2);
const path = transport === "sse" ? "sse" : "mcp";
const { listen } = Server.prototype;
Server.prototype.listen = function (_port, listening) {
    return listen.call(this, 0, "127.0.0.1", () => {
        process.stdout.write(`http://127.0.0.1:${this.address().port}/${path}\n`);
        listening();
    });
};
// What it says by itself is not the first line.
console.log = console.error;
await import("@modelcontextprotocol/server-everything/dist/index.js");
