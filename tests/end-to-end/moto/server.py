"""moto's server, with what it lacks: see the modules beside this one, one subject each.

    server.py --port PORT
"""

import argparse
import json
import logging
from http import HTTPStatus

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

import authorization
import consistency
import fleet
import gaps
import market
import refusals
import states
import validation
from administration import Administration

AMZ_JSON = "application/x-amz-json-1.1"
XML = "text/xml;charset=UTF-8"


class Cloud:
    """The WSGI application: our own calls, the Pricing API, and moto for everything else."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.administration = Administration()

    def __call__(self, environ, start_response):
        authorization.receive(environ)
        path = environ.get("PATH_INFO", "")
        if path.startswith("/rig/"):
            status, document = self.administration.answer(environ["REQUEST_METHOD"], path, _body(environ))
            return _send(start_response, status, document, "application/json")
        if refused := refusals.answer(environ.get("HTTP_AUTHORIZATION", ""), _body(environ)):
            return _send(start_response, refused[0], refused[1], XML)
        authorization.rewind(environ)
        if environ.get("HTTP_X_AMZ_TARGET") == "AWSPriceListService.GetProducts":
            if lacked := authorization.refused(environ.get("HTTP_AUTHORIZATION", ""), "GetProducts"):
                return _send(start_response, 400, {"lacked": lacked}, AMZ_JSON, [(authorization.DENIED, lacked)])
            return _send(start_response, 200, market.get_products(json.loads(_body(environ))), AMZ_JSON)
        return self.moto(environ, start_response)


def _body(environ) -> bytes:
    return environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))


def _send(start_response, status: int, document: object, content_type: str, headers: list[tuple[str, str]] | None = None):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    start_response(f"{status} {HTTPStatus(status).phrase}", [
        ("Content-Type", content_type),
        ("Content-Length", str(len(body))),
        *(headers or []),
    ])
    return [body]


class Handler(MotoRequestHandler):

    def log_request(self, *_):
        """The rig's gate keeps the record of calls."""


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, required=True)
    port = arguments.parse_args().port
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    for subject in (fleet, states, gaps, consistency, validation, authorization):
        subject.install()
    make_server("127.0.0.1", port, Cloud(), threaded=True, request_handler=Handler).serve_forever()


if __name__ == "__main__":
    main()
