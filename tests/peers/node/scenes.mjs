// What the clients on both versions of the TypeScript SDK talk about with our server. The versions differ in how a
// client is made and how a call takes its options; the rest has the same names.

import assert from "node:assert/strict";

const ITEM = "test://item";
const NUMBER = "test://number/{number}";
const MODERN = "2026-07-28";

/** The answers to what our server asks. */
export const ANSWERS = {
    elicit: ({ params }) => {
        assert.deepEqual(Object.keys(params.requestedSchema.properties), ["name"]);
        return { action: "accept", content: { name: "Ada" } };
    },
    sample: ({ params }) => {
        assert.equal(params.maxTokens, 10);
        return { role: "assistant", model: "a-model", content: { type: "text", text: "windlass" } };
    },
    roots: () => ({ roots: [{ uri: "file:///one" }, { uri: "file:///two" }] }),
};

/** What the client declares. */
export const CAPABILITIES = { elicitation: {}, sampling: {}, roots: { listChanged: true } };

/** What the server told by itself. */
export class Heard {
    log = [];
    #changes = [];
    #waiting = [];

    message = ({ params }) => this.log.push([params.level, params.data]);
    updated = ({ params }) => this.#changed(params.uri);
    toolsChanged = () => this.#changed("tools");

    #changed(what) {
        const waiting = this.#waiting.shift();
        waiting ? waiting(what) : this.#changes.push(what);
    }

    async change() {
        return this.#changes.shift() ?? new Promise((heard) => this.#waiting.push(heard));
    }
}

/** Holds the conversation. `call` is how the version calls a tool, `notFound` how it tells of no such resource. */
export async function converse({ client, call, heard, revision, notFound }) {
    const isModern = revision === MODERN;
    assert.equal(client.getInstructions(), "For tests only.");
    assert.equal(client.getServerVersion().name, "windlass");
    await tools(client, call);
    await progress(client, call);
    await resources(client, notFound);
    await promptsAndCompletion(client);
    await asking(call);
    await changes(client, call, heard, isModern);
    await logging(client, call, heard, isModern);
    await cancelling(call);
    if (!isModern) {
        await client.ping();
    }
}

/** Says goodbye. A session of HTTP goes on unless it is ended by hand. */
export async function close(client, transport) {
    const { sessionId } = transport;
    await transport.terminateSession?.();
    await client.close();
    if (sessionId) {
        const headers = { "mcp-session-id": sessionId, accept: "text/event-stream" };
        const { status } = await fetch(process.argv[3], { headers });
        assert.equal(status, 404);
        // Connections that are kept for later would keep the program, too.
        process.exit(0);
    }
}

/** Ends the program with an error if it takes too long. */
export function startDeadline() {
    const deadline = setTimeout(() => {
        console.error("the conversation hangs");
        process.exit(1);
    }, 40_000);
    deadline.unref();
}

const textOf = ({ content }) => content.map((block) => block.text).join("");

const errorOf = async (calling) => {
    const outcome = await calling.then((result) => ({ result }), (error) => ({ error }));
    assert.ok(outcome.error, `an error was expected, not ${JSON.stringify(outcome.result)}`);
    return outcome.error.code;
};

async function tools(client, call) {
    const listed = [];
    let cursor;
    do {
        const page = await client.listTools({ cursor });
        listed.push(...page.tools);
        cursor = page.nextCursor;
    } while (cursor);
    assert.equal(listed.length, 12);

    const greeting = "grüß dich\n\u2028\0🦀";
    assert.equal(textOf(await call("echo", { text: greeting })), greeting);
    // The client checks the result against the tool's output schema.
    assert.deepEqual((await call("add", { a: 2, b: 40 })).structuredContent, { sum: 42 });
    const failed = await call("fail");
    assert.ok(failed.isError && textOf(failed).includes("this tool always fails"));
    assert.ok((await call("add", { a: "two" })).isError);
    assert.equal(await errorOf(call("no-such-tool")), -32602);
}

async function progress(client, call) {
    const [steps, errors] = [[], []];
    client.onerror = (error) => errors.push(error.message);
    const onprogress = (step) => steps.push([step.progress, step.total, step.message]);
    assert.equal(textOf(await call("count", { steps: 3 }, { onprogress })), "counted 3");
    client.onerror = undefined;
    // The SDK handles a response at once but a notification a moment later: progress that it reads together with the
    // result comes too late, and it says so. `cancelling` shows progress that has its time.
    assert.equal(steps.length + errors.filter((error) => error.includes("unknown token")).length, 3);
    assert.deepEqual(steps, [1, 2, 3].slice(0, steps.length).map((step) => [step, 3, `step ${step}`]));
}

async function resources(client, notFound) {
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map(({ uri }) => uri), [ITEM]);
    const { resourceTemplates } = await client.listResourceTemplates();
    assert.deepEqual(resourceTemplates.map(({ uriTemplate }) => uriTemplate), [NUMBER]);
    for (const [uri, text] of [[ITEM, "the item"], ["test://number/7", "7"]]) {
        const { contents } = await client.readResource({ uri });
        assert.deepEqual(contents.map((one) => [one.uri, one.text]), [[uri, text]]);
    }
    assert.equal(await errorOf(client.readResource({ uri: "test://nowhere" })), notFound);
}

async function promptsAndCompletion(client) {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map(({ name }) => name), ["greeting"]);
    const greeting = await client.getPrompt({ name: "greeting", arguments: { name: "Ada" } });
    assert.equal(greeting.messages[0].content.text, "Hello, Ada!");
    const complete = async (ref, name, value) =>
        (await client.complete({ ref, argument: { name, value } })).completion.values;
    assert.deepEqual(await complete({ type: "ref/prompt", name: "greeting" }, "name", "A"), ["Ada", "Alan"]);
    assert.deepEqual(await complete({ type: "ref/resource", uri: NUMBER }, "number", ""), ["1", "2"]);
}

async function asking(call) {
    assert.equal(textOf(await call("ask_user")), "Ada");
    assert.equal(textOf(await call("ask_model")), "windlass by a-model");
    assert.equal(textOf(await call("ask_roots")), "file:///one file:///two");
}

async function changes(client, call, heard, isModern) {
    const subscription = isModern
        ? await client.listen({ toolsListChanged: true, resourceSubscriptions: [ITEM] })
        : await client.subscribeResource({ uri: ITEM });
    await call("touch");
    assert.equal(await heard.change(), ITEM);
    await call("add_tool");
    assert.equal(await heard.change(), "tools");
    assert.equal(textOf(await call("added")), "new");
    await (isModern ? subscription.close() : client.unsubscribeResource({ uri: ITEM }));
}

async function logging(client, call, heard, isModern) {
    for (const [level, expected] of [
        ["debug", [["debug", "a detail"], ["warning", "a warning"]]],
        ["warning", [["warning", "a warning"]]],
    ]) {
        // In the modern era each request says which messages it wants.
        const meta = isModern ? { "io.modelcontextprotocol/logLevel": level } : undefined;
        if (!isModern) {
            await client.setLoggingLevel(level);
        }
        heard.log.length = 0;
        await call("log", {}, {}, meta);
        assert.deepEqual(heard.log, expected, `at ${level}`);
    }
}

async function cancelling(call) {
    const controller = new AbortController();
    let progressed;
    const progress = new Promise((heard) => (progressed = heard));
    const never = call("never", {}, { signal: controller.signal, onprogress: progressed });
    assert.deepEqual(await progress, { progress: 1, message: "waiting" });
    assert.equal(textOf(await call("counts")), "1 0");
    controller.abort("a change of mind");
    await assert.rejects(never);
    while (textOf(await call("counts")) !== "1 1");
}
