// How the servers of the tests on both versions of the TypeScript SDK listen.

import { createServer } from "node:http";

/**
 * Serves on a free port until the program is told to end, and says first where that is. `complaint` is asked in the end
 * what a client has done wrong, if anything.
 */
export function listen(handle, complaint) {
    const server = createServer((request, response) => {
        handle(request, response).catch((error) => {
            console.error(error);
            response.destroy();
        });
    });
    server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
    process.on("SIGTERM", () => {
        const wrong = complaint();
        if (wrong) {
            console.error(wrong);
        }
        process.exit(wrong ? 1 : 0);
    });
}
