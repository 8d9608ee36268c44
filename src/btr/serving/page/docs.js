// Draws the description of the API from /openapi.json. The usual viewers of it load files from other sites.
"use strict";

function make(tag, text = "", ...children) {
  const element = document.createElement(tag);
  element.textContent = text;
  element.append(...children);
  return element;
}

let schemas = {};
const resolve = (schema) => (schema.$ref ? schemas[schema.$ref.split("/").pop()] : schema);

function nameType(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(nameType).join(" or ");
  if (schema.type === "array") return schema.items ? `list of ${nameType(schema.items)}` : "list";
  return schema.type || "anything";
}

function drawFields(schema, isRequest = false) {
  const table = make("table");
  for (const [name, field] of Object.entries(resolve(schema).properties || {})) {
    const note = !isRequest || resolve(schema).required?.includes(name) ? "" : " (optional)";
    table.append(make("tr", "", make("td", "", make("code", name)), make("td", nameType(field) + note),
      make("td", field.description || "")));
  }
  return table;
}

function example(schema) {
  const entries = Object.entries(resolve(schema).properties || {}).filter(([, field]) => field.examples);
  return Object.fromEntries(entries.map(([name, field]) => [name, field.examples[0]]));
}

function drawCommand(method, path, body) {
  const address = new URL(path.slice(1), document.baseURI).href;
  if (method === "get") return `curl ${address}`;
  if (body["application/json"]) {
    const data = JSON.stringify(example(body["application/json"].schema));
    return `curl ${address} -H 'Content-Type: application/json' \\\n  -d '${data}'`;
  }
  return `curl ${address} -d language=en-US --data-urlencode 'text=She have two dog.'`;
}

function drawOperation(path, method, operation) {
  const body = operation.requestBody?.content || {};
  const section = make("section", "", make("h2", "", make("code", `${method.toUpperCase()} ${path}`)),
    make("p", operation.description || ""), make("pre", drawCommand(method, path, body)));
  for (const { schema } of Object.values(body)) section.append(make("h3", "Request"), drawFields(schema, true));
  const answer = operation.responses["200"]?.content?.["application/json"]?.schema;
  if (answer?.$ref) section.append(make("h3", `Answer: ${nameType(answer)}`), drawFields(answer));
  return section;
}

async function draw() {
  const description = await (await fetch("openapi.json")).json();
  schemas = description.components.schemas;
  document.getElementById("about").textContent = description.info.description;
  const parts = ["Sentence", "Candidate", "Edit", "Score"].map((name) => make("section", "",
    make("h2", "", make("code", name)), make("p", schemas[name].description), drawFields(schemas[name])));
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => drawOperation(path, method, operation)));
  document.getElementById("paths").append(...operations, ...parts);
}

draw();
