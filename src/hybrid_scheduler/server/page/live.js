"use strict";
const byId = (id) => document.getElementById(id);
let cursor = null, stream = null, wait = 500;

function seconds(value) {
  if (value === null) return "–";
  return value < 1 ? `${(value * 1000).toPrecision(3)} ms` : `${value.toPrecision(3)} s`;
}

function cell(row, text, warn) {
  const made = row.insertCell();
  made.textContent = text;
  if (warn) made.className = "warn";
  return made;
}

function show(frame) {
  const load = frame.settings.load === null ? `${frame.settings.rate} tasks/s` : `load ${frame.settings.load}`;
  byId("state").textContent = `run ${frame.run_id} is ${frame.state} · ${frame.tasks_processed.toLocaleString("en")} tasks · ` +
    `${frame.settings.preset}, ${load}, ${frame.settings.num_gpus} GPUs · simulated`;
  byId("notice").textContent = frame.error;
  const body = byId("rows");
  body.replaceChildren();
  const lanes = [...frame.schedulers].sort((a, b) => a.makespan_over_bound - b.makespan_over_bound);
  const worst = Math.max(...lanes.map((lane) => lane.makespan_over_bound));
  for (const lane of lanes) {
    const row = body.insertRow();
    const name = cell(row, lane.name + (lane.saturated ? " (queue grows)" : ""), lane.saturated);
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.width = `${(100 * lane.makespan_over_bound) / worst}%`;
    name.append(bar);
    cell(row, lane.makespan_over_bound.toFixed(3));
    cell(row, seconds(lane.window.mean_turnaround));
    cell(row, seconds(lane.window.avg_time));
    cell(row, lane.wins.toLocaleString("en"));
    cell(row, seconds(lane.backlog));
  }
  if (frame.task) {
    byId("task").textContent = `newest task ${frame.task.id}: size ${frame.task.size.toFixed(0)}, ` +
      `intensity ${frame.task.intensity.toFixed(2)}, ${frame.task.memory.toFixed(0)} MB`;
  }
}

function take(message) {
  if (message.seq !== undefined) cursor = message.seq;
  if (message.type === "hello") {
    stream = message.stream;
    if (message.notice) byId("notice").textContent = message.notice;
  } else if (message.type === "simulation_update") show(message);
  else if (message.type === "notification" && message.level === "error") byId("notice").textContent = message.message;
}

function connect() {
  const address = new URL("/ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  if (cursor !== null) address.search = `?cursor=${cursor}&stream=${stream}`;
  const socket = new WebSocket(address);
  socket.onopen = () => { wait = 500; };
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => {
    byId("state").textContent = "the connection is lost, trying again …";
    setTimeout(connect, wait);
    wait = Math.min(2 * wait, 10000);
  };
}

async function order(name) {
  const answer = await fetch(`/api/simulation/${name}`, { method: "POST" });
  byId("notice").textContent = answer.ok ? "" : (await answer.json()).error.message;
}

byId("pause").onclick = () => order("pause");
byId("resume").onclick = () => order("resume");
connect();
