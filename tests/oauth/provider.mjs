// An authorization server for the tests: `oidc-provider` with a user who says yes to everything. It says its issuer in
// its first line. What was asked of it can be read at /test/log?client=ID, and /test/end?client=ID ends the access tokens of
// a client before their time: those that are revoked take the refresh token with them.
//
// The path of a resource says which tokens are issued for it: /es256/3 has signed ones that are good for three seconds;
// there are /rs256/… and /opaque/… as well.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const SCOPES = ["tools:read", "tools:write"];
// Whoever starts this may not be there to end it.
setTimeout(() => process.exit(1), 600_000).unref();

const key = (kind, options, alg) => {
    const jwk = generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" });
    return { ...jwk, kid: alg, alg, use: "sig" };
};

// --- What is kept ----------------------------------------------------------------------------------------------------

// The provider's own store forgets the oldest of a thousand things, among them tokens that were used already.
const kept = new Map();
class Kept {
    constructor(kind) {
        this.kind = kind;
    }
    name(id) {
        return `${this.kind}:${id}`;
    }
    async upsert(id, payload) {
        kept.set(this.name(id), payload);
    }
    async find(id) {
        return kept.get(this.name(id));
    }
    of(is) {
        return [...kept].filter(([name, payload]) => name.startsWith(`${this.kind}:`) && is(payload));
    }
    async findByUid(uid) {
        return this.of((payload) => payload.uid === uid)[0]?.[1];
    }
    async findByUserCode(code) {
        return this.of((payload) => payload.userCode === code)[0]?.[1];
    }
    async consume(id) {
        kept.get(this.name(id)).consumed = Math.floor(Date.now() / 1000);
    }
    async destroy(id) {
        kept.delete(this.name(id));
    }
    async revokeByGrantId(grant) {
        this.of((payload) => payload.grantId === grant).forEach(([name]) => kept.delete(name));
    }
}

// --- The provider ----------------------------------------------------------------------------------------------------

const http = createServer((request, response) => handle(request, response));
let handle;
await new Promise((listening) => http.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${http.address().port}`;

const provider = new Provider(issuer, {
    adapter: Kept,
    clients: [
        {
            client_id: "resource-server",
            client_secret: process.env.OAUTH_SERVER_SECRET,
            redirect_uris: [],
            response_types: [],
            grant_types: [],
        },
    ],
    cookies: { keys: [randomBytes(32).toString("hex")] },
    features: {
        deviceFlow: { enabled: true },
        devInteractions: { enabled: false },
        introspection: { enabled: true, allowedPolicy: (_, client) => client.clientId === "resource-server" },
        registration: { enabled: true },
        resourceIndicators: {
            enabled: true,
            useGrantedResource: () => true,
            getResourceServerInfo: (_, resource) => {
                const [, format, seconds] = new URL(resource).pathname.split("/");
                const accessTokenTTL = Number(seconds);
                const info = { scope: SCOPES.join(" "), audience: resource, accessTokenTTL };
                return format === "opaque"
                    ? { ...info, accessTokenFormat: "opaque" }
                    : { ...info, accessTokenFormat: "jwt", jwt: { sign: { alg: format.toUpperCase() } } };
            },
        },
        revocation: { enabled: true },
    },
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    jwks: { keys: [key("ec", { namedCurve: "P-256" }, "ES256"), key("rsa", { modulusLength: 2048 }, "RS256")] },
    pkce: { required: () => true },
    // Whoever shows a token for the second time loses everything that was granted.
    rotateRefreshToken: () => true,
    // Clients that say at once what they will ask for are to be believed.
    scopes: ["openid", "offline_access", ...SCOPES],
    ttl: { DeviceCode: 60, Grant: 3600, IdToken: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600 },
});

// --- The user --------------------------------------------------------------------------------------------------------

async function interact(request, response) {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    let result = { login: { accountId: "ada" } };
    if (prompt.name === "consent") {
        const { missingOIDCScope, missingResourceScopes } = prompt.details;
        const grant = grantId
            ? await provider.Grant.find(grantId)
            : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
        grant.addOIDCScope((missingOIDCScope ?? []).join(" "));
        for (const [resource, scopes] of Object.entries(missingResourceScopes ?? {})) {
            grant.addResourceScope(resource, scopes.join(" "));
        }
        result = { consent: { grantId: await grant.save() } };
    }
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
}

// --- What was asked --------------------------------------------------------------------------------------------------

const asked = [];
provider.use(async (ctx, next) => {
    await next();
    const { route, params, client } = ctx.oidc ?? {};
    if (["authorization", "device_authorization", "introspection", "revocation", "token"].includes(route)) {
        const { grant_type: grant, refresh_token: shown, scope, resource } = params ?? {};
        const known = client?.clientId ?? params?.client_id;
        asked.push({ route, client: known, grant, shown, scope, resource, status: ctx.status, error: ctx.body?.error });
    } else if (route === "registration") {
        asked.push({ route, client: ctx.body?.client_id, status: ctx.status });
    }
});

function log(client) {
    const own = asked.filter((one) => one.client === client);
    const tokens = own.filter(({ route }) => route === "token");
    const refreshes = tokens.filter(({ grant }) => grant === "refresh_token");
    const times = new Map();
    refreshes.forEach(({ shown }) => times.set(shown, (times.get(shown) ?? 0) + 1));
    const grants = (name) => tokens.filter(({ grant, status }) => grant === name && status === 200).length;
    return {
        registrations: own.filter(({ route }) => route === "registration").length,
        scopes: own.filter(({ route }) => route.endsWith("authorization")).map(({ scope }) => scope ?? ""),
        resources: [...new Set(own.map(({ resource }) => resource).filter(Boolean))],
        codes: grants("authorization_code"),
        devices: grants("urn:ietf:params:oauth:grant-type:device_code"),
        refreshes: refreshes.length,
        refused: refreshes.filter(({ status }) => status !== 200).length,
        // How often the token that was shown most often was shown.
        most_shown: Math.max(0, ...times.values()),
    };
}

const main = provider.callback();
handle = async (request, response) => {
    const url = new URL(request.url, issuer);
    try {
        if (url.pathname.startsWith("/interaction/")) {
            await interact(request, response);
        } else if (url.pathname === "/test/log") {
            response.end(JSON.stringify(log(url.searchParams.get("client"))));
        } else if (url.pathname === "/test/end") {
            const ended = new Kept("AccessToken").of(({ clientId }) => clientId === url.searchParams.get("client"));
            ended.forEach(([name]) => kept.delete(name));
            response.end(`${ended.length}`);
        } else {
            await main(request, response);
        }
    } catch (error) {
        console.error(error);
        response.writeHead(500).end(String(error));
    }
};
provider.on("server_error", (_, error) => console.error(error));
console.log(issuer);
