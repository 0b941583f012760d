// What both clients on the TypeScript SDK share: a provider of authorization that keeps everything in memory, and a
// user who follows wherever it leads.

import assert from "node:assert/strict";

const REDIRECT = "http://127.0.0.1:9/callback";

// A client that waits in vain is to say so.
export const startDeadline = () => setTimeout(() => assert.fail("it takes too long"), 30_000).unref();

export class Memory {
    redirectUrl = REDIRECT;
    clientMetadata = {
        client_name: "typescript",
        redirect_uris: [REDIRECT],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        application_type: "native",
    };
    kept = {};
    clientInformation = () => this.kept.client;
    saveClientInformation = (client) => void (this.kept.client = client);
    tokens = () => this.kept.tokens;
    saveTokens = (tokens) => void (this.kept.tokens = tokens);
    codeVerifier = () => this.kept.verifier;
    saveCodeVerifier = (verifier) => void (this.kept.verifier = verifier);
    discoveryState = () => this.kept.discovery;
    saveDiscoveryState = (discovery) => void (this.kept.discovery = discovery);
    redirectToAuthorization = (url) => void (this.kept.page = url);

    // Opens the page that the user was sent to, and gives back the query that the browser comes back with.
    async visit() {
        const cookies = new Map();
        let url = this.kept.page;
        for (let pages = 0; pages < 20; pages += 1) {
            if (url.href.startsWith(REDIRECT)) {
                return url.searchParams;
            }
            const sent = [...cookies.values()].filter(({ path }) => url.pathname.startsWith(path));
            const cookie = sent.map(({ pair }) => pair).join("; ");
            const answer = await fetch(url, { redirect: "manual", headers: { cookie } });
            for (const line of answer.headers.getSetCookie()) {
                const pair = line.split(";")[0];
                const path = /path=([^;]*)/i.exec(line)?.[1] ?? "/";
                cookies.set(`${pair.split("=")[0]} ${path}`, { pair, path });
            }
            const location = answer.headers.get("location");
            assert.ok(location, `${url} leads nowhere: ${answer.status} ${await answer.text()}`);
            url = new URL(location, url);
        }
        return assert.fail("the login leads nowhere");
    }
}

// Logs in when that is asked for, and calls a tool: connect(provider) gives a client or throws, and finish(query) goes
// on after a login.
export async function converse(connect, finish, call) {
    const provider = new Memory();
    await assert.rejects(connect(provider), { name: /Unauthorized|Error/ });
    assert.ok(provider.kept.page, "the user is sent to log in");
    await finish(await provider.visit());
    assert.ok(provider.kept.tokens.access_token);
    const client = await connect(provider);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), ["read", "write"]);
    const { structuredContent } = await call(client, "read");
    assert.equal(structuredContent.subject, "ada");
    assert.equal(structuredContent.client, provider.kept.client.client_id);
    await client.close();
}
