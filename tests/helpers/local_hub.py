"""A stand-in of the Hugging Face hub at this machine: the few endpoints that uploading and downloading a model use."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_test"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class LocalHub(ThreadingHTTPServer):
    """Repositories by id, each a dictionary of files; and the ids of private ones."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories, self.private = {}, set()
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, content, status=200, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        hub = self.server
        if self.path == "/api/validate-yaml":
            return self.answer({"errors": [], "warnings": []})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.answer({"error": "Invalid username or password."}, 401)
        if self.path == "/api/repos/create":
            wanted = json.loads(body)
            name = f"{wanted['organization']}/{wanted['name']}"
            hub.repositories.setdefault(name, {})
            if wanted.get("private") or wanted.get("visibility") == "private":  # older and newer libraries
                hub.private.add(name)
            return self.answer({"url": f"{hub.address}/{name}"})
        name, verb = re.match(r"/api/models/([\w.-]+/[\w.-]+)/(preupload|commit)/main", self.path).groups()
        if verb == "preupload":
            paths = [file["path"] for file in json.loads(body)["files"]]
            return self.answer({"files": [{"path": p, "uploadMode": "regular", "shouldIgnore": False} for p in paths]})
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                hub.repositories[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        return self.answer({"commitUrl": f"{hub.address}/{name}/commit/{COMMIT}", "commitOid": COMMIT, "success": True})

    def do_GET(self):
        path = self.path.partition("?")[0]
        if found := re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)(/revision/main)?", path):
            files = self.server.repositories.get(found[1])
            if files is not None:
                siblings = [{"rfilename": name} for name in files]
                return self.answer({"id": found[1], "modelId": found[1], "sha": COMMIT, "siblings": siblings})
        elif found := re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)/tree/\w+", path):
            files = self.server.repositories.get(found[1], {})
            rows = [{"type": "file", "path": name, "size": len(files[name]), "oid": "0" * 40} for name in files]
            return self.answer(rows, Content_Type="application/json")
        elif re.match(r"/api/models/[\w.-]+/[\w.-]+/tree/", path):  # a folder in a repository: there are none
            return self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
        elif found := re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/\w+/(.+)", path):
            content = self.server.repositories.get(found[1], {}).get(found[2])
            if content is not None:
                etag = hashlib.sha256(content).hexdigest()
                return self.answer(content, X_Repo_Commit=COMMIT, ETag=f'"{etag}"')
            return self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
        return self.answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")

    def do_HEAD(self):
        self.do_GET()


@contextmanager
def local_hub():
    hub = LocalHub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
