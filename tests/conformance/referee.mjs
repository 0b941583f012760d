// Tells which scenarios there are, and what came of them.
//
//   node referee.mjs SUITE plan [SCENARIO…]                  prints lines of SIDE REVISION SCENARIO
//   node referee.mjs SUITE judge RESULTS RUNTIME,… [SCENARIO…]  prints the table; fails if anything did that must not
//
// The suite's own verdict does for less: it forgives warnings, and whole scenarios that it does not score.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

const [suite, command, ...words] = process.argv.slice(2);
const REVISIONS = ["2025-11-25", "2026-07-28"];
const SIDES = ["server", "client"];
/// What our client prints at the end of a scenario that went as it expected.
const DONE = "done";

/// All scenarios that the requirement sets name. What is scored must pass, and so must what is not scored only because
/// it is young or pending.
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
    const chosen = all.filter(({ scenario }) => only.length === 0 || only.includes(scenario));
    // Whoever names a scenario wants to know about it.
    return only.length === 0 ? chosen : chosen.map((entry) => ({ ...entry, kind: "must pass" }));
}

function kind(scenario, reason) {
    if (scenario.startsWith("auth/")) {
        return "not yet";
    }
    return reason === "extension" ? "not offered" : "must pass";
}

/// What the suite wrote about one scenario on one runtime: `verdict` for the table, and what is to be said about it.
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
    if (remarks.length === 0 && of("SUCCESS").length === 0) {
        remarks.push("FAILURE nothing was checked");
    }
    const failures = remarks.filter((remark) => remark.startsWith("FAILURE")).length;
    if (failures > 0) {
        return { verdict: `${failures} FAILED`, remarks, skipped };
    }
    return { verdict: warned.length > 0 ? `${warned.length} WARNED` : "ok", remarks, skipped };
}

/// The folder of a scenario, which has the time in its name. A scenario may have a slash in it.
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
    const lines = new Map();
    const note = (line, runtime) => lines.set(line, [...(lines.get(line) ?? []), runtime]);
    const printed = () => {
        for (const [line, where] of lines) {
            console.log(`  ${line} [${where.join(" ")}]`);
        }
        lines.clear();
    };
    const counts = new Map();
    const skips = [];
    let bad = 0;
    const all = scenarios(only);
    for (const side of SIDES) {
        for (const revision of REVISIONS) {
            const rows = all.filter((entry) => entry.side === side && entry.revision === revision);
            const ours = rows.filter((entry) => entry.kind === "must pass");
            if (ours.length === 0) {
                continue;
            }
            console.log(`\n${`${side} ${revision}`.padEnd(50)}${runtimes.map((name) => name.padEnd(11)).join("")}`);
            for (const entry of ours) {
                const cells = runtimes.map((runtime) => {
                    const { verdict, remarks, skipped } = examine(results, runtime, entry);
                    const about = `${side} ${revision} ${entry.scenario}`;
                    remarks.forEach((remark) => note(`${about}: ${remark}`, runtime));
                    skipped.forEach((check) => skips.push([`${about}: ${check}`, runtime]));
                    counts.set(verdict === "ok", (counts.get(verdict === "ok") ?? 0) + 1);
                    bad += verdict === "ok" ? 0 : 1;
                    return verdict.padEnd(11);
                });
                console.log(`${entry.scenario.padEnd(50)}${cells.join("")}`);
            }
        }
    }
    if (lines.size > 0) {
        console.log("\nWhat went wrong:");
        printed();
    }
    if (skips.length > 0) {
        console.log("\nSkipped by the suite within scenarios:");
        skips.forEach(([line, runtime]) => note(line, runtime));
        printed();
    }
    for (const [kind, why] of [
        ["not yet", "authorization is a later piece of work"],
        ["not offered", "extensions that the server does not declare"],
    ]) {
        const rest = all.filter((entry) => entry.kind === kind);
        if (rest.length > 0) {
            const names = rest.map(({ side, revision, scenario }) => `${scenario} (${side} ${revision})`);
            console.log(`\n${kind}: ${rest.length} scenarios, ${why}:\n  ${names.join(", ")}`);
        }
    }
    console.log(`\n${counts.get(true) ?? 0} passed, ${bad} did not`);
    return bad === 0 && counts.size > 0;
}

if (command === "plan") {
    const chosen = scenarios(words);
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
