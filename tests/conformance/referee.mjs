// Tells which scenarios there are, and what came of them.
//
//   node referee.mjs SUITE plan [SCENARIO…]                     prints lines of SIDE REVISION SCENARIO
//   node referee.mjs SUITE judge RESULTS RUNTIME,… [SCENARIO…]  prints the table; fails if anything did that must not
//
// The suite's own verdict does for less: it forgives warnings, and whole scenarios that it does not score.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const [suite, command, ...words] = process.argv.slice(2);
const REVISIONS = ["2025-11-25", "2026-07-28"];
const SIDES = ["server", "client"];
const [MUST_PASS, NOT_OFFERED] = ["must pass", "not offered"];
// No requirement set names these: they are about servers of a revision before both. `run` asks for them by name.
const OLDER = { side: "client", revision: "2025-11-25", kind: MUST_PASS };
const OLDER_SCENARIOS = ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"];
const OK = "ok";
// What our client prints at the end of a scenario that went as it expected.
const DONE = "done";

// All scenarios that the requirement sets name. What is scored must pass, and so must what is not scored only because
// it is young or pending.
function scenarios(only) {
    const all = [];
    for (const side of SIDES) {
        for (const revision of REVISIONS) {
            const set = parse(readFileSync(join(suite, "requirements", `${revision}.yaml`), "utf8"));
            const unscored = set.not_scored.filter((entry) => entry.leg === side);
            const entry = (scenario, reason) => ({ side, revision, scenario, kind: kind(scenario, reason) });
            all.push(...set[side].map((scenario) => entry(scenario, undefined)));
            all.push(...unscored.map(({ scenario, reason }) => entry(scenario, reason)));
        }
    }
    all.push(...OLDER_SCENARIOS.map((scenario) => ({ ...OLDER, scenario })));
    const chosen = all.filter(({ scenario }) => only.length === 0 || only.includes(scenario));
    // Whoever names a scenario wants to know about it.
    return only.length === 0 ? chosen : chosen.map((entry) => ({ ...entry, kind: MUST_PASS }));
}

function kind(scenario, reason) {
    const offered = scenario.startsWith("auth/");
    return reason === "extension" && !offered ? NOT_OFFERED : MUST_PASS;
}

// What the suite wrote about one scenario on one runtime: `verdict` for the table, and what is to be said about it.
function examine(results, runtime, { side, revision, scenario }) {
    const folder = join(results, runtime, `${side}-${revision}`);
    const found = newest(folder, side === "server" ? `server-${scenario}` : scenario);
    if (found === undefined || !existsSync(join(found, "checks.json"))) {
        return { verdict: "MISSING", remarks: ["FAILURE the suite has no result; its log tells more"], skipped: [] };
    }
    const checks = JSON.parse(readFileSync(join(found, "checks.json"), "utf8"));
    const of = (status) => checks.filter((check) => check.status === status);
    const [failed, warned] = [of("FAILURE"), of("WARNING")];
    const remarks = [...failed, ...warned].map(
        ({ status, id, description, errorMessage }) => `${status} ${id}: ${errorMessage ?? description}`,
    );
    const skipped = of("SKIPPED").map(({ id, name, errorMessage }) => `${id} (${name}): ${errorMessage ?? ""}`);
    if (side === "client") {
        const said = readFileSync(join(found, "stdout.txt"), "utf8").trim();
        if (!said.endsWith(DONE)) {
            const complaint = readFileSync(join(found, "stderr.txt"), "utf8").trim().split("\n").pop();
            remarks.push(`FAILURE the client did not get through: ${complaint || "it was ended"}`);
        }
    }
    // The suite adds a check of its own to every scenario, which alone says nothing.
    const own = of("SUCCESS").filter(({ id }) => !id.startsWith("wire-schema-"));
    if (remarks.length === 0 && own.length === 0) {
        remarks.push("FAILURE nothing was checked");
    }
    const failures = remarks.filter((remark) => remark.startsWith("FAILURE")).length;
    if (failures > 0) {
        return { verdict: `${failures} FAILED`, remarks, skipped };
    }
    return { verdict: warned.length > 0 ? `${warned.length} WARNED` : OK, remarks, skipped };
}

// The folder of a scenario, which has the time in its name. A scenario may have a slash in it.
function newest(folder, scenario) {
    const path = join(folder, scenario);
    const parent = join(path, "..");
    if (!existsSync(parent)) {
        return undefined;
    }
    const name = path.slice(parent.length + 1);
    const times = readdirSync(parent).filter((entry) => entry.startsWith(`${name}-`));
    // Another scenario's name may begin with this one.
    const own = times.filter((entry) => /^\d{4}-\d{2}-\d{2}T[\d-]+Z$/.test(entry.slice(name.length + 1)));
    return own.length === 0 ? undefined : join(parent, own.sort().pop());
}

function judge(results, runtimes, only) {
    const all = scenarios(only);
    const [wrong, skipped] = [new Map(), new Map()];
    const note = (notes, line, runtime) => notes.set(line, [...(notes.get(line) ?? []), runtime]);
    const verdicts = [];
    for (const side of SIDES) {
        for (const revision of REVISIONS) {
            const rows = all.filter((entry) => entry.side === side && entry.revision === revision);
            const ours = rows.filter((entry) => entry.kind === MUST_PASS);
            if (ours.length > 0) {
                console.log(`\n${`${side} ${revision}`.padEnd(50)}${runtimes.map((name) => name.padEnd(11)).join("")}`);
            }
            for (const entry of ours) {
                const about = `${side} ${revision} ${entry.scenario}`;
                const cells = runtimes.map((runtime) => {
                    const found = examine(results, runtime, entry);
                    found.remarks.forEach((remark) => note(wrong, `${about}: ${remark}`, runtime));
                    // What is skipped because something else went wrong is of no interest.
                    const skips = found.verdict === OK ? found.skipped : [];
                    skips.forEach((check) => note(skipped, `${about}: ${check}`, runtime));
                    verdicts.push(found.verdict);
                    return found.verdict.padEnd(11);
                });
                console.log(`${entry.scenario.padEnd(50)}${cells.join("")}`);
            }
        }
    }
    printNotes("What went wrong", wrong);
    printNotes("What the suite skipped within scenarios", skipped);
    printLeftOut(all, NOT_OFFERED, "extensions that the server does not declare");
    const passed = verdicts.filter((verdict) => verdict === OK).length;
    console.log(`\n${passed} passed, ${verdicts.length - passed} did not`);
    return passed > 0 && passed === verdicts.length;
}

function printNotes(title, notes) {
    if (notes.size > 0) {
        console.log(`\n${title}:`);
        notes.forEach((runtimes, line) => console.log(`  ${line} [${runtimes.join(" ")}]`));
    }
}

// Names what was left out, so that nobody takes it for passed.
function printLeftOut(all, kind, why) {
    const names = [...new Set(all.filter((entry) => entry.kind === kind).map(({ scenario }) => scenario))];
    if (names.length > 0) {
        console.log(`\n${kind} (${why}): ${names.length} scenarios`);
        let line = " ";
        for (const name of names) {
            if (line.length + name.length > 118) {
                console.log(line);
                line = " ";
            }
            line += ` ${name}`;
        }
        console.log(line);
    }
}

if (command === "plan") {
    const chosen = words[0] === "--older" ? scenarios(OLDER_SCENARIOS) : scenarios(words);
    if (words[0] === "--older") {
        words.length = 0;
    }
    const unknown = words.filter((word) => !chosen.some(({ scenario }) => scenario === word));
    if (unknown.length > 0) {
        console.error(`no requirement set names ${unknown.join(", ")}`);
        process.exit(2);
    }
    chosen.forEach(({ side, revision, scenario }) => console.log(`${side} ${revision} ${scenario}`));
} else {
    const [results, runtimes, ...only] = words;
    process.exit(judge(results, runtimes.split(","), only) ? 0 : 1);
}
