"""An endpoint of EC2 that gives written answers: for operations and refusals that moto does not have."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

_ERROR = (
    "<Response><Errors><Error><Code>{}</Code><Message>{}</Message></Error></Errors><RequestID>1</RequestID></Response>"
)


class CannedEc2:
    """Serves until closed. Operations without an answer are refused as `InternalError`."""

    def __init__(self) -> None:
        self.answers: Mapping[str, str | tuple[str, str]] = {}
        """An operation to the XML within its answer, or to code and message of an error."""
        self.asked: list[dict[str, str]] = []
        """The parameters of each request, in order."""
        canned = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                status, answer = canned.answer({key: values[0] for key, values in parse_qs(body).items()})
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: dict[str, str]) -> tuple[int, bytes]:
        self.asked.append(request)
        action = request["Action"]
        found = self.answers.get(action, ("InternalError", "there is no written answer"))
        if isinstance(found, tuple):
            return 400, _ERROR.format(*found).encode()
        space = "http://ec2.amazonaws.com/doc/2016-11-15/"
        return 200, f'<{action}Response xmlns="{space}">{found}</{action}Response>'.encode()

    def actions(self) -> list[str]:
        return [request["Action"] for request in self.asked]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
