// Loads an events entrypoint as the agent-extension runtime does, emits its event and checks the
// job. Arguments: the file, the expected agent.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [file, agent] = process.argv.slice(2);
const module = await import(`${pathToFileURL(file).href}?reloadToken=1`);
const handlers = new Map();
const registered = module.registerAgentEvents({
  on: (type, handler) => void handlers.set(type, handler),
});
assert.equal(registered, undefined, "a promise would lose late registrations");
assert.deepEqual([...handlers.keys()], ["suggest_request.requested"]);

async function jobFor(payload) {
  const jobs = [];
  const result = { status: "enqueued", job: { id: "1", type: "suggest_request", projectId: "p" } };
  const tools = {
    enqueueJob: async (job) => {
      jobs.push(job);
      return result;
    },
  };
  const type = "suggest_request.requested";
  assert.equal(await handlers.get(type)({ type, payload }, tools), result);
  assert.equal(jobs.length, 1);
  return jobs[0];
}

const event = {
  requestKey: "key",
  sessionId: "session",
  projectId: "project",
  threadId: "thread",
  turnId: "turn",
  userRequest: "Rename the helper",
  turnTranscript: "1. user: Rename the helper",
  model: "sample-model",
  effort: "low",
  draft: "x".repeat(5000),
};
const job = await jobFor(event);
assert.equal(job.type, "suggest_request");
assert.equal(job.projectId, "project");
assert.equal(job.sourceSessionId, "session");
const { instructionText, ...rest } = job.payload;
assert.deepEqual(rest, {
  requestKey: "key",
  sessionId: "session",
  projectId: "project",
  sourceThreadId: "thread",
  sourceTurnId: "turn",
  agent,
  model: "sample-model",
  effort: "low",
  draft: "x".repeat(4000),
});
assert.match(instructionText, /Rename the helper/);

// The least that an event can carry: every text of the job must still be non-empty.
const least = await jobFor({ requestKey: "key", sessionId: "session", projectId: "project" });
for (const [name, value] of Object.entries(least.payload)) {
  assert.ok(value.length > 0, name);
}
assert.ok(!("model" in least.payload) && !("draft" in least.payload));
